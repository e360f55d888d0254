// The map of physical blocks: a cell for each, coloured by who holds it.

import { byId, element, formatNumber } from "/dashboard/page.js";
import { freshCopies, holders, states } from "/dashboard/view.js";

// A larger pool shows several blocks in a cell.
const MOST_CELLS = 4096;
const COPY_STEPS = 40;
const LEGEND = [
  ["held", "held by one"],
  ["shared", "shared by several"],
  ["cached", "cached, held by none"],
  ["free", "free"],
];

export class BlockMap {
  #pools = [];
  #keys = [];
  #map = null;
  #holders = [];

  // onPick: called with the id of a request whose block was clicked.
  constructor(hues, onPick) {
    this.hues = hues;
    this.root = byId("map");
    this.focused = null;
    this.root.addEventListener("click", (event) => {
      const [first] = this.#holdersAt(event.target);
      if (first) onPick(first.request);
    });
    for (const kind of ["pointerover", "focusin"]) {
      this.root.addEventListener(kind, (event) => this.#hint(event.target));
    }
  }

  show(map) {
    this.#map = map;
    this.#holders = holders(map);
    if (this.#pools.length !== map.pools.length || this.#pools.some((each, i) => each.numBlocks !== map.pools[i].num_blocks)) {
      this.#build(map);
    }
    const fresh = freshCopies(map, COPY_STEPS);
    map.pools.forEach((pool, i) => this.#paint(pool, i, fresh));
    this.#showLegend(map);
    byId("map-note").textContent =
      `${formatNumber(map.num_blocks)} blocks of ${map.block_size} tokens` +
      (this.#pools.some((pool) => pool.perCell > 1) ? `, several to a cell` : "");
  }

  // Lights the blocks of one request, or of none.
  focus(id) {
    this.focused = id;
    if (this.#map) this.show(this.#map);
  }

  #build(map) {
    this.#keys = [];
    this.#pools = map.pools.map((pool) => {
      const perCell = Math.ceil(pool.num_blocks / MOST_CELLS);
      const numCells = Math.ceil(pool.num_blocks / perCell);
      const size = numCells <= 320 ? "large" : numCells <= 1200 ? "medium" : "small";
      const cells = Array.from({ length: numCells }, () => element("button", { class: "block", type: "button" }));
      this.#keys.push(new Array(numCells).fill(""));
      return { numBlocks: pool.num_blocks, perCell, cells, grid: element("div", { class: "pool", "data-size": size }, ...cells) };
    });
    this.#pools.forEach((pool, i) =>
      pool.cells.forEach((cell, place) => {
        cell.dataset.pool = i;
        cell.dataset.first = place * pool.perCell;
      }),
    );
    this.root.replaceChildren(...this.#pools.map((pool) => pool.grid));
  }

  #paint(pool, index, fresh) {
    const { cells, perCell } = this.#pools[index];
    const all = states(pool);
    const found = this.#holders[index];
    cells.forEach((cell, place) => {
      const first = place * perCell;
      const block = perCell === 1 ? first : busiest(all, first, perCell);
      const owners = found[block];
      const ids = [...new Set(owners.map((owner) => owner.request))];
      const hasFocus = this.focused !== null && ids.includes(this.focused);
      const isFresh = fresh.has(`${index}:${block}`) && owners.length > 0;
      const key = `${all[block]} ${ids.slice(0, 2)} ${pool.references[block]} ${hasFocus} ${isFresh}`;
      if (this.#keys[index][place] === key) return;
      this.#keys[index][place] = key;
      cell.dataset.state = all[block];
      cell.dataset.count = pool.references[block];
      cell.toggleAttribute("data-focus", hasFocus);
      cell.toggleAttribute("data-copy", isFresh);
      cell.tabIndex = owners.length ? 0 : -1;
      cell.style.setProperty("--angle", this.#angle(ids[0]));
      cell.style.setProperty("--angle-2", ids.length > 1 ? this.#angle(ids[1]) : this.#angle(ids[0]) + 24);
      cell.setAttribute("aria-label", `block ${block}, ${all[block]}`);
    });
    this.root.classList.toggle("has-focus", this.focused !== null);
  }

  #angle(id) {
    return id === undefined ? 0 : this.hues.angle(id);
  }

  #showLegend(map) {
    const copies = element("li", { title: "blocks that were copied because a sequence wrote into a shared one" },
      element("i", { class: "block swatch", "data-state": "held", "data-copy": "" }),
      element("b", { id: "num-copies" }, formatNumber(map.totals.copied_blocks)), "copied on write");
    byId("legend").replaceChildren(
      ...LEGEND.map(([state, text]) =>
        element("li", { "data-legend": state },
          element("i", { class: "block swatch", "data-state": state, "data-count": 2 }),
          element("b", {}, String(map.counts[state])), text)),
      copies,
    );
  }

  #holdersAt(target) {
    const { pool, first } = target.dataset ?? {};
    return pool === undefined ? [] : this.#holders[pool].slice(first, Number(first) + this.#pools[pool].perCell).flat();
  }

  #hint(target) {
    if (!target.dataset || target.dataset.first === undefined) return;
    const owners = this.#holdersAt(target);
    const who = owners.slice(0, 4).map((owner) => `${owner.request} #${owner.sequence}, its block ${owner.place}`);
    const more = owners.length > 4 ? ` and ${owners.length - 4} more` : "";
    byId("hint").textContent =
      `Block ${target.dataset.first}: ${target.dataset.state}` + (who.length ? `; ${who.join("; ")}${more}` : "");
  }
}

// The block that stands for several: a shared one before a held one before a cached one.
function busiest(all, first, count) {
  const order = ["free", "cached", "held", "shared"];
  let best = first;
  for (let block = first; block < Math.min(first + count, all.length); block++) {
    if (order.indexOf(all[block]) > order.indexOf(all[best])) best = block;
  }
  return best;
}
