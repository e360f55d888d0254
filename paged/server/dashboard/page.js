// Small things that all parts of the page use: elements, numbers as text, calls to the server.

// Text goes into the page as text and never as markup: a request's name is its client's choice.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

export function formatNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

export function formatShare(share) {
  if (share === null || !Number.isFinite(share)) return "–";
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
}

// Returns a number and its unit.
export function formatSeconds(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return ["–", ""];
  if (seconds >= 1) return [seconds.toFixed(seconds >= 10 ? 0 : 2), "s"];
  return [(seconds * 1e3).toFixed(seconds >= 0.01 ? 0 : 1), "ms"];
}

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function rememberKey(key) {
  sessionStorage.setItem("paged-key", key);
}

// Fetches from the server that this page came from. Throws ServerError with the server's own words.
export async function call(path, { body, signal } = {}) {
  const key = sessionStorage.getItem("paged-key");
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(key ? { Authorization: `Bearer ${key}` } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  if (response.ok) return response;
  const text = await response.text();
  throw new ServerError(response.status, messageOf(text) ?? `the server answered ${response.status}`);
}

function messageOf(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return null;
  }
}

// Yields the objects of a stream of server-sent events, up to [DONE].
export async function* events(response) {
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (!part.startsWith("data: ")) continue;
      if (part === "data: [DONE]") return;
      yield JSON.parse(part.slice(6));
    }
  }
}

export function startTheme(button) {
  const root = document.documentElement;
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const show = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
  };
  show(localStorage.getItem("paged-theme") ?? (wanted.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("paged-theme", theme);
    show(theme);
  });
}
