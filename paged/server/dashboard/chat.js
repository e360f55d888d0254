// A conversation with the model; several answers at once share the blocks of the question.

import { byId, call, element, events } from "/dashboard/page.js";

// What the authors of the demo model advise: it seldom keeps to the question above. Not 0, for
// several answers are to differ.
const TEMPERATURE = 0.2;

export class Chat {
  #messages = [];
  #abort = null;

  constructor() {
    this.log = byId("chat-log");
    const text = byId("chat-text");
    byId("chat").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!text.value.trim() || this.#abort) return;
      this.#ask(text.value, Number(byId("chat-n").value));
      text.value = "";
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        byId("chat").requestSubmit();
      }
    });
    byId("chat-stop").addEventListener("click", () => this.#abort?.abort());
  }

  async #ask(text, count) {
    this.#messages.push({ role: "user", content: text });
    this.#say("user", text);
    const answers = Array.from({ length: count }, () => element("p", { class: "says", "data-role": "assistant" }));
    this.log.append(element("div", { class: "answers" }, ...answers));
    this.#abort = new AbortController();
    byId("chat-stop").disabled = false;
    try {
      const body = { messages: this.#messages, stream: true, n: count, temperature: TEMPERATURE };
      const response = await call("/v1/chat/completions", { body, signal: this.#abort.signal });
      for await (const event of events(response)) {
        if (event.error) throw new Error(event.error.message);
        for (const choice of event.choices) answers[choice.index].append(choice.delta.content ?? "");
        this.log.scrollTop = this.log.scrollHeight;
      }
    } catch (error) {
      if (error.name !== "AbortError") this.#say("error", error.message);
    } finally {
      this.#end(answers[0].textContent);
    }
  }

  #end(answer) {
    // A question without an answer would spoil the next one.
    if (answer) this.#messages.push({ role: "assistant", content: answer });
    else this.#messages.pop();
    this.#abort = null;
    byId("chat-stop").disabled = true;
  }

  #say(role, text) {
    this.log.append(element("p", { class: "says", "data-role": role }, text));
    this.log.scrollTop = this.log.scrollHeight;
  }
}
