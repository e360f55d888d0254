// Requests that this page sends by itself: as many prompts at once as the slider says.
//
// A browser opens six connections to a server at most, and the page needs some of them, so
// one connection carries several prompts.

import { byId, call } from "/dashboard/page.js";

const WORDS = "block table page slot token cache share copy swap grow fork free hold wait step row".split(" ");
const PREFIX = "You read a long list of words and go on with it, in the same manner, word after word: ";
const PAUSE_MS = 1000;
const NUM_CONNECTIONS = 4;

function prompt() {
  const count = 4 + Math.floor(Math.random() * 40);
  const words = Array.from({ length: count }, () => WORDS[Math.floor(Math.random() * WORDS.length)]);
  return (byId("load-prefix").checked ? PREFIX : "") + words.join(" ");
}

export class Load {
  #count = 0;
  #running = new Map();
  #numDone = 0;

  constructor() {
    const slider = byId("streams");
    slider.addEventListener("input", () => {
      byId("streams-value").textContent = slider.value;
      this.#resize(Number(slider.value));
    });
  }

  #resize(count) {
    this.#count = count;
    for (let connection = 0; connection < NUM_CONNECTIONS; connection++) {
      const isRunning = this.#running.has(connection);
      if (this.#share(connection) && !isRunning) this.#run(connection);
      if (!this.#share(connection) && isRunning) this.#running.get(connection).abort();
    }
  }

  // Prompts that one of the connections carries at once.
  #share(connection) {
    return Math.floor((this.#count + NUM_CONNECTIONS - 1 - connection) / NUM_CONNECTIONS);
  }

  async #run(connection) {
    const stop = new AbortController();
    this.#running.set(connection, stop);
    while (this.#share(connection) && !stop.signal.aborted) {
      const count = this.#share(connection);
      try {
        await (await call("/v1/completions", { body: this.#body(count), signal: stop.signal })).arrayBuffer();
        this.#numDone += count;
        this.#note(`${this.#numDone} answered`, "good");
      } catch (error) {
        if (error.name === "AbortError") break;
        this.#note(error.message, "bad");
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
    this.#running.delete(connection);
    // The slider may have moved again meanwhile.
    this.#resize(this.#count);
  }

  #body(count) {
    const most = Number(byId("load-tokens").value);
    return {
      prompt: Array.from({ length: count }, prompt),
      max_tokens: Math.max(1, Math.round(most * (0.4 + 0.6 * Math.random()))),
      n: Number(byId("load-n").value),
      ignore_eos: true,
    };
  }

  #note(text, kind) {
    const note = byId("load-note");
    note.textContent = text;
    note.dataset.kind = kind;
  }
}
