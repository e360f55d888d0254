// The real allocator beside those that only keep books: what each holds of the same requests.

import { byId, element, formatShare } from "/dashboard/page.js";
import { capacity, SLOT_CLASSES, unused } from "/dashboard/view.js";

export class Shadows {
  constructor() {
    this.root = byId("shadows");
  }

  show(map) {
    const numHeld = map.requests.filter((request) => request.sequences.length).length;
    const rows = row(map.allocator, map.slots, [
      element("b", {}, String(numHeld)), " held · unused ", element("b", {}, formatShare(unused(map.slots))),
    ]);
    for (const shadow of map.shadows) {
      const rest = shadow.num_waiting ? ` · ${shadow.num_waiting} would wait` : "";
      const never = shadow.num_refused ? ` · ${shadow.num_refused} never fit` : "";
      rows.push(...row(shadow.allocator, shadow.slots, [
        element("b", {}, String(shadow.num_held)), " held · unused ",
        element("b", {}, formatShare(unused(shadow.slots))), rest + never,
      ]));
    }
    if (!map.shadows.length) {
      rows.push(element("p", { class: "empty" }, "None: the KV groups of this model have pools of their own."));
    }
    this.root.replaceChildren(...rows);
  }
}

function row(name, slots, what) {
  const bar = element("div", { class: "bar", role: "img", "aria-label": `slots of ${name}` });
  for (const [kind, text] of SLOT_CLASSES) {
    const part = element("i", { "data-class": kind, title: `${text}: ${slots[kind]} slots` });
    part.style.setProperty("--share", `${(slots[kind] / capacity(slots)) * 100}%`);
    bar.append(part);
  }
  return [element("span", { class: "name" }, name), bar, element("span", { class: "what" }, ...what)];
}
