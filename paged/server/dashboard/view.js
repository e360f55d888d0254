// What a block map means: who holds each block, and how totals change. Nothing here touches the page.

const GOLDEN_ANGLE = 137.508;

// Gives every request a hue of its own that it keeps; those of neighbours in time lie far apart.
export class Hues {
  #numbers = new Map();
  #next = 0;

  angle(id) {
    if (!this.#numbers.has(id)) this.#numbers.set(id, this.#next++);
    return (25 + this.#numbers.get(id) * GOLDEN_ANGLE) % 360;
  }

  // Forgets all requests but these.
  keep(ids) {
    const alive = new Set(ids);
    for (const id of this.#numbers.keys()) if (!alive.has(id)) this.#numbers.delete(id);
  }
}

// For each pool the holders of each block: [{request, sequence, place}], place counted in blocks.
export function holders(map) {
  const pools = map.pools.map((pool) => Array.from({ length: pool.num_blocks }, () => []));
  for (const request of map.requests) {
    for (const sequence of request.sequences) {
      sequence.tables.forEach((table, pool) => {
        table.blocks.forEach((block, i) => {
          if (block === null) return;
          pools[pool][block].push({ request: request.id, sequence: sequence.index, place: table.first + i });
        });
      });
    }
  }
  return pools;
}

// The state of each block of a pool: held, shared, cached or free.
export function states(pool) {
  const cached = new Set(pool.cached);
  return pool.references.map((count, block) => {
    if (count > 1) return "shared";
    if (count === 1) return "held";
    return cached.has(block) ? "cached" : "free";
  });
}

// Blocks that were copied from a shared one within so many steps, as "pool:block".
export function freshCopies(map, numSteps) {
  const fresh = new Set();
  for (const copy of map.copies) {
    if (copy.step < map.totals.steps - numSteps) continue;
    const pools = copy.pool === null ? map.pools.keys() : [copy.pool];
    for (const pool of pools) fresh.add(`${pool}:${copy.to}`);
  }
  return fresh;
}

// Keeps the latest maps' numbers, and says how fast totals grow.
export class History {
  #samples = [];

  constructor(length) {
    this.length = length;
  }

  get samples() {
    return this.#samples;
  }

  add(map) {
    const last = this.#samples.at(-1);
    // Another engine counts from zero again.
    if (last && (map.time_s < last.time_s || map.totals.steps < last.totals.steps)) this.#samples = [];
    else if (last && map.time_s === last.time_s) return;
    this.#samples.push({ time_s: map.time_s, totals: map.totals, slots: map.slots });
    if (this.#samples.length > this.length) this.#samples.shift();
  }

  // Growth of a total per second over the latest window; null before there are two samples.
  rate(name, window_s) {
    const last = this.#samples.at(-1);
    if (!last) return null;
    const first = this.#samples.find((sample) => last.time_s - sample.time_s <= window_s);
    return perSecond(name, first, last);
  }

  // The same between each two samples.
  rates(name) {
    return this.#samples.slice(1).map((sample, i) => perSecond(name, this.#samples[i], sample));
  }
}

function perSecond(name, first, last) {
  if (first === last) return null;
  return (last.totals[name] - first.totals[name]) / (last.time_s - first.time_s);
}

export const SLOT_CLASSES = [
  ["token", "tokens"],
  ["granted_unused", "granted, not used yet"],
  ["rounding", "rounding"],
  ["cached_free", "cached, held by none"],
  ["free", "free"],
];

// Bands of a stacked chart: for each class the points of its upper and lower edge, 0 to 1.
export function bands(samples) {
  return SLOT_CLASSES.map(([name], index) => {
    const below = SLOT_CLASSES.slice(0, index).map(([other]) => other);
    const lower = samples.map(({ slots }) => sum(below, slots) / capacity(slots));
    const upper = samples.map(({ slots }, i) => lower[i] + slots[name] / capacity(slots));
    return { name, lower, upper };
  });
}

function sum(names, slots) {
  return names.reduce((total, name) => total + slots[name], 0);
}

export function capacity(slots) {
  return Object.values(slots).reduce((total, value) => total + value, 0);
}

// What of the memory that requests hold holds nothing: not used yet or never, and rounding.
export function unused(slots) {
  const idle = slots.granted_unused + slots.reserved + slots.internal + slots.rounding;
  const held = idle + slots.token;
  return held ? idle / held : null;
}
