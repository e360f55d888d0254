// Asks for the block map again and again, and shows it.

import { BlockMap } from "/dashboard/blocks.js";
import { SlotChart, Tiles } from "/dashboard/charts.js";
import { Chat } from "/dashboard/chat.js";
import { Load } from "/dashboard/load.js";
import { byId, call, element, formatNumber, rememberKey, startTheme } from "/dashboard/page.js";
import { RequestList } from "/dashboard/requests.js";
import { Shadows } from "/dashboard/shadows.js";
import { History, Hues } from "/dashboard/view.js";

const PERIOD_MS = 400;
// A step may take longer, and the engine answers between two of them.
const PATIENCE_MS = 2000;
const NUM_SAMPLES = 300;

const hues = new Hues();
const history = new History(NUM_SAMPLES);
const tiles = new Tiles();
const chart = new SlotChart();
const shadows = new Shadows();
const requests = new RequestList(hues, (id) => blocks.focus(id));
const blocks = new BlockMap(hues, (id) => requests.pin(id));
let isPaused = false;

function show(map) {
  hues.keep(map.requests.map((request) => request.id));
  history.add(map);
  byId("model").textContent = map.model;
  byId("pool").textContent =
    `${map.allocator}, ${formatNumber(map.num_blocks * map.block_size)} tokens in ${formatNumber(map.num_blocks)} blocks`;
  tiles.show(map, history);
  blocks.show(map);
  chart.show(history);
  shadows.show(map);
  requests.show(map);
  byId("kernels").replaceChildren(
    ...Object.entries(map.kernels).flatMap(([op, variant]) => [element("dt", {}, op), element("dd", {}, variant)]),
  );
  document.body.dataset.time = map.time_s;
}

function tell(text, kind) {
  byId("status").textContent = text;
  byId("status").dataset.kind = kind;
}

async function look() {
  const patience = setTimeout(() => isPaused || tell("waiting for the engine", "wait"), PATIENCE_MS);
  try {
    const map = await (await call("/v1/blocks")).json();
    if (isPaused) return;
    show(map);
    tell("live", "live");
    byId("key-form").hidden = true;
  } catch (error) {
    byId("key-form").hidden = error.status !== 401;
    tell(error.status ? error.message : "the server does not answer", "bad");
  } finally {
    clearTimeout(patience);
  }
}

async function watch() {
  for (;;) {
    if (!isPaused && !document.hidden) await look();
    await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
  }
}

byId("pause").addEventListener("click", (event) => {
  isPaused = !isPaused;
  event.target.setAttribute("aria-pressed", isPaused);
  event.target.textContent = isPaused ? "Go on" : "Pause";
  tell(isPaused ? "paused" : "live", isPaused ? "wait" : "live");
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  rememberKey(byId("key").value);
});
startTheme(byId("theme"));
new Chat();
new Load();
watch();
