// Numbers over time: tiles with a small line each, and the stacked classes of slots.

import { byId, element, formatNumber, formatSeconds, formatShare } from "/dashboard/page.js";
import { bands, capacity, SLOT_CLASSES } from "/dashboard/view.js";

const SVG = "http://www.w3.org/2000/svg";
const RATE_WINDOW_S = 4;

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export class Tiles {
  constructor() {
    this.root = byId("tiles");
  }

  show(map, history) {
    const { statuses, totals, latencies } = map;
    const ttft = latencies.time_to_first_token_s;
    const itl = latencies.inter_token_latency_s;
    const away = statuses.preempted + statuses.swapped;
    this.root.replaceChildren(
      tile("running", [formatNumber(statuses.running), ""]),
      tile("waiting", [formatNumber(statuses.waiting), ""]),
      tile("preempted", [formatNumber(away), `${formatNumber(totals.preemptions)} in all`], { isAlarm: away > 0 }),
      tile("tokens/s", [formatNumber(history.rate("generation_tokens", RATE_WINDOW_S)), ""],
        { line: history.rates("generation_tokens") }),
      tile("first token p50", formatSeconds(ttft.p50), { note: p99(ttft) }),
      tile("between tokens p50", formatSeconds(itl.p50), { note: p99(itl) }),
      tile("prefix hits", [formatShare(totals.prefix_queries ? totals.prefix_hits / totals.prefix_queries : null), "of tokens"]),
      tile("pool in use", [formatShare((map.counts.held + map.counts.shared) / map.num_blocks), ""]),
    );
  }
}

function tile(name, [value, unit], { line = [], isAlarm = false, note = null } = {}) {
  const made = element("div", { class: "tile", "data-tile": name, "data-alarm": isAlarm ? "" : null },
    element("span", {}, name), element("b", {}, value, element("i", {}, unit)));
  if (line.length > 1) made.append(spark(line));
  if (note) made.append(element("span", {}, note));
  return made;
}

function p99(latency) {
  return `p99 ${formatSeconds(latency.p99).join(" ")}`;
}

function spark(values) {
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, i) => `${i},${(1 - value / most).toFixed(3)}`);
  return svg("svg", { viewBox: `0 0 ${values.length - 1} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { d: `M${points.join("L")}` }));
}

export class SlotChart {
  constructor() {
    this.root = byId("slots");
  }

  show(history) {
    const { samples } = history;
    if (!samples.length) return;
    const last = samples.at(-1);
    const times_s = samples.map((sample) => (sample.time_s - samples[0].time_s).toFixed(3));
    const width = Math.max(times_s.at(-1), 0.001);
    const drawing = svg("svg", {
      class: "chart", viewBox: `0 0 ${width} 1`, preserveAspectRatio: "none", role: "img",
      "aria-label": "Share of the pool's slots in each class over time",
    });
    for (const { name, lower, upper } of bands(samples)) {
      const there = upper.map((y, i) => `${times_s[i]},${(1 - y).toFixed(4)}`);
      const back = lower.map((y, i) => `${times_s[i]},${(1 - y).toFixed(4)}`).reverse();
      drawing.append(svg("path", { "data-class": name, d: `M${there.join("L")}L${back.join("L")}Z` }));
    }
    for (const y of [0.25, 0.5, 0.75]) drawing.append(svg("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y }));
    const key = SLOT_CLASSES.map(([name, text]) =>
      element("li", {}, element("i", { class: "dot", "data-class": name }), text,
        element("b", {}, formatShare(last.slots[name] / capacity(last.slots)))));
    const note = element("li", {}, `the last ${width.toFixed(0)} s`);
    this.root.replaceChildren(drawing, element("ul", { class: "key" }, ...key, note));
  }
}
