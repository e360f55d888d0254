// The list of requests, and the block tables of the one that is pinned.

import { byId, element } from "/dashboard/page.js";

const MOST_SHOWN = 60;

export class RequestList {
  #map = null;
  // Rows stay the same elements: a click begins and ends on one, and focus stays where it is.
  #rows = new Map();

  // onFocus: called with the id of the request to light up, or null.
  constructor(hues, onFocus) {
    this.hues = hues;
    this.onFocus = onFocus;
    this.pinned = null;
    this.root = byId("requests");
    this.empty = element("p", { class: "empty" }, "None. Move the slider, or say something.");
    this.root.addEventListener("click", (event) => {
      const row = event.target.closest(".request");
      if (row) this.pin(this.pinned === row.dataset.id ? null : row.dataset.id);
    });
    this.root.addEventListener("pointerover", (event) => {
      const row = event.target.closest(".request");
      if (row && this.pinned === null) onFocus(row.dataset.id);
    });
    this.root.addEventListener("pointerleave", () => onFocus(this.pinned));
  }

  pin(id) {
    this.pinned = id;
    this.onFocus(id);
    if (this.#map) this.show(this.#map);
  }

  show(map) {
    this.#map = map;
    if (this.pinned !== null && !map.requests.some((request) => request.id === this.pinned)) {
      this.pin(null);
      return;
    }
    const shown = map.requests.slice(0, MOST_SHOWN);
    const rest = map.requests.length - shown.length;
    byId("requests-note").textContent = rest > 0 ? `the first ${MOST_SHOWN}, and ${rest} more` : "";
    const before = this.#rows;
    this.#rows = new Map(shown.map(({ id }) => [id, before.get(id) ?? newRow(id, this.hues)]));
    for (const [id, item] of before) if (!this.#rows.has(id)) item.remove();
    shown.forEach((request, place) => {
      const item = this.#rows.get(request.id);
      if (this.root.children[place] !== item) this.root.insertBefore(item, this.root.children[place] ?? null);
      this.#fill(item, request, map);
    });
    if (shown.length) this.empty.remove();
    else this.root.append(this.empty);
  }

  #fill(item, request, map) {
    const isPinned = request.id === this.pinned;
    const row = item.querySelector(".request");
    const tokens = request.sequences.reduce((total, each) => total + each.num_tokens, 0);
    row.dataset.status = request.status;
    row.setAttribute("aria-expanded", isPinned);
    row.querySelector(".chips").replaceChildren(...chips(request));
    row.querySelector(".size").textContent = request.sequences.length
      ? `${tokens} tokens`
      : `prompt of ${request.num_prompt_tokens}`;
    item.toggleAttribute("data-pinned", isPinned);
    item.querySelector(".tables").replaceChildren(...(isPinned ? tables(request, map) : []));
  }
}

function newRow(id, hues) {
  const row = element("button", { class: "request", type: "button", "data-id": id, title: id },
    element("i", { class: "dot" }),
    element("span", { class: "id" }, shortId(id)),
    element("span", { class: "chips" }),
    element("span", { class: "size" }));
  row.style.setProperty("--angle", hues.angle(id));
  return element("li", {}, row, element("div", { class: "tables" }));
}

function chips(request) {
  const made = [];
  if (request.status !== "running") made.push(chip(request.status, request.status));
  if (request.num_preemptions) made.push(chip(`preempted ${request.num_preemptions}×`, "past"));
  if (request.sequences.length > 1) made.push(chip(`${request.sequences.length} sequences`, "past"));
  return made;
}

function shortId(id) {
  // Ids of one request's prompts differ at their ends.
  return id.length > 18 ? `${id.slice(0, 9)}…${id.slice(-6)}` : id;
}

function chip(text, status) {
  return element("span", { class: "chip", "data-status": status }, text);
}

function tables(request, map) {
  if (!request.sequences.length) {
    return [element("div", { class: "table" }, "It waits and holds no blocks.")];
  }
  return request.sequences.flatMap((sequence) =>
    sequence.tables.map((table, pool) => {
      const name = map.pools.length > 1 ? `, pool ${pool}` : "";
      const gone = table.first ? `, ${table.first} blocks given up behind its window` : "";
      return element("div", { class: "table" },
        `sequence ${sequence.index}${name}: ${sequence.num_tokens} tokens${gone}`,
        element("ol", {}, ...table.blocks.map((block) => entry(block, map.pools[pool]))));
    }),
  );
}

function entry(block, pool) {
  if (block === null) return element("li", { title: "moved to the host" }, "host");
  const count = pool.references[block];
  const isShared = count > 1;
  return element("li", { "data-shared": isShared ? "" : null, title: isShared ? `held by ${count}` : null }, String(block));
}
