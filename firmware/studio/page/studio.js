// SPDX-License-Identifier: BSD-2-Clause
"use strict";
// Draws, asks, and shows what machines answer. Everything that comes from the server goes in as text.

const $ = (selector, from = document) => from.querySelector(selector);
const paper = $("#paper"), pen = paper.getContext("2d", { willReadFrequently: true });
const cards = new Map();              // instruction set -> card
let networks = [], machines = new Map(), early = [], request = 0, given = null, timer = null, stroke = false;

const network = () => networks.find(one => one.key === $("#network").value);
const count = value => value.toLocaleString("en-US");

function trouble(text = "") { $("#trouble").textContent = text; }

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

// Drawing

function clear() {
  pen.fillStyle = "#fffdf7";
  pen.fillRect(0, 0, paper.width, paper.height);
  given = null;
  $("#hint").hidden = false;
  $("#truth").textContent = "";
}

function place(event) {
  const box = paper.getBoundingClientRect();
  return [(event.clientX - box.left) * paper.width / box.width, (event.clientY - box.top) * paper.height / box.height];
}

paper.addEventListener("pointerdown", event => {
  clearTimeout(timer);
  if (given !== "ink") clear();
  stroke = true;
  given = "ink";
  $("#hint").hidden = true;
  paper.setPointerCapture(event.pointerId);
  pen.lineWidth = 50;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = "#14323a";
  pen.beginPath();
  pen.moveTo(...place(event));
  pen.lineTo(...place(event));
  pen.stroke();
});
paper.addEventListener("pointermove", event => {
  if (!stroke) return;
  pen.lineTo(...place(event));
  pen.stroke();
});
for (const name of ["pointerup", "pointercancel"]) paper.addEventListener(name, () => {
  if (!stroke) return;
  stroke = false;
  clearTimeout(timer);
  timer = setTimeout(() => ask(ink()), 350);       // a second stroke may follow
});

function ink() {
  // Half the size is plenty, and dark is ink.
  const half = document.createElement("canvas"), side = paper.width / 2;
  half.width = half.height = side;
  const small = half.getContext("2d");
  small.drawImage(paper, 0, 0, side, side);
  const rgba = small.getImageData(0, 0, side, side).data, bytes = new Uint8Array(side * side);
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.max(0, Math.min(255, (255 - rgba[4 * at]) * 255 / 235));
  return { kind: "ink", width: side, height: side, data: base64(bytes) };
}

$("#clear").addEventListener("click", () => { clearTimeout(timer); clear(); asked = null; pixels(new Array(64).fill(0)); });
$("#example").addEventListener("click", () => {
  clearTimeout(timer);
  clear();
  ask({ kind: "example", number: Math.floor(Math.random() * 540) });
});

// An example on the paper; the next stroke begins a new drawing.
function onPaper(values) {
  const side = paper.width / 8;
  values.forEach((value, at) => {
    const share = value / 16, shade = [[255, 20], [253, 50], [247, 58]].map(([light, dark]) => Math.round(light + (dark - light) * share));
    pen.fillStyle = `rgb(${shade.join()})`;
    pen.fillRect(at % 8 * side, Math.floor(at / 8) * side, side, side);
  });
  $("#hint").hidden = true;
}

function pixels(values) {
  const seen = $("#seen"), image = seen.getContext("2d").createImageData(8, 8);
  values.forEach((value, at) => image.data.set([255 - value * 15, 255 - value * 13, 255 - value * 12, 255], 4 * at));
  seen.getContext("2d").putImageData(image, 0, 0);
}

// Pictures and arrays

$("#file").addEventListener("change", async () => {
  const file = $("#file").files[0], wanted = network().image;
  trouble();
  $("#run").disabled = true;
  if (!file) return;
  if (file.name.endsWith(".npy")) {
    given = { kind: "npy", data: base64(new Uint8Array(await file.arrayBuffer())) };
  } else if (!wanted) {
    return trouble("this network's input is no picture; give it as .npy");
  } else {
    let picture;
    try { picture = await createImageBitmap(file); } catch { return trouble(`${file.name} is no picture that this browser can read`); }
    const preview = $("#preview"), context = preview.getContext("2d", { willReadFrequently: true });
    preview.width = wanted.width;
    preview.height = wanted.height;
    context.drawImage(picture, 0, 0, wanted.width, wanted.height);
    const rgba = context.getImageData(0, 0, wanted.width, wanted.height).data, rgb = new Uint8Array(wanted.width * wanted.height * 3);
    for (let at = 0; at < rgb.length; at++) rgb[at] = rgba[4 * Math.floor(at / 3) + at % 3];
    given = { kind: "image", data: base64(rgb) };
  }
  $("#run").disabled = false;
});
$("#run").addEventListener("click", () => ask(given.kind === "image" ? { ...given, low: Number($("#low").value), high: Number($("#high").value) } : given));

// Asking

let asked = null;                     // the input of the last question, for the next network
let questions = 0;                    // asked so far; answers to all but the last are left out

async function ask(input) {
  const question = ++questions;
  asked = input;
  const names = [...cards.values()].filter(card => card.on.checked && !card.on.disabled).map(card => card.place.value);
  trouble();
  if (!names.length) return trouble("choose a machine");
  const waiting = [...cards.values()].filter(card => names.includes(card.place.value));
  for (const card of waiting) blank(card);
  request = 0;                        // until the number of this question is known, none is answered
  const refused = text => {
    for (const card of waiting) card.answer.textContent = "–";
    trouble(text);
  };
  try {
    const response = await fetch("api/recognise", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ network: network().key, machines: names, input }) });
    const answer = await response.json();
    if (question !== questions) return;                // something else was asked meanwhile
    if (!response.ok) return refused(answer.error);
    request = answer.request;
    document.body.dataset.request = request;
    early.splice(0).forEach(tell);
    if (answer.pixels) pixels(answer.pixels);
    if ("label" in answer) {
      onPaper(answer.pixels);
      $("#truth").textContent = `The data set says ${answer.label}.`;
    }
  } catch { if (question === questions) refused("the studio does not answer; is it still running?"); }
}

// Machines

function blank(card) {
  card.answer.textContent = "…";
  card.shares.replaceChildren();
  card.counters.replaceChildren();
  card.clocked.hidden = true;
  for (const name of ["cycles", "time", "equal", "wall"]) { card[name].textContent = "–"; card[name].className = name; }
}

function makeCards(state) {
  const sets = [...new Set(state.machines.map(one => one.isa))];
  for (const isa of sets) {
    const node = $("#card").content.cloneNode(true), article = $("article", node), card = { article };
    for (const [name, selector] of Object.entries({ on: ".on", place: ".place", state: ".state", answer: ".class", shares: ".shares", cycles: ".cycles", time: ".time", clock: ".clock", clocked: ".clocked",
      equal: ".equal", wall: ".wall", counters: ".counters" })) card[name] = $(selector, article);
    article.dataset.isa = isa;
    $(".isa", article).textContent = state.machines.find(one => one.isa === isa).title;
    for (const one of state.machines.filter(one => one.isa === isa)) card.place.add(new Option(one.label, one.machine));
    const chosen = state.chosen.find(name => [...card.place.options].some(option => option.value === name));
    card.on.checked = Boolean(chosen);
    if (chosen) card.place.value = chosen;
    card.place.addEventListener("change", () => { card.on.checked = true; blank(card); card.answer.textContent = "–"; show(card); });
    card.on.addEventListener("change", () => show(card));
    cards.set(isa, card);
    $("#machines").append(node);
  }
}

function show(card) {
  const one = machines.get(card.place.value);
  card.article.classList.toggle("off", !card.on.checked || card.on.disabled);
  card.state.className = `state ${one.state}`;
  const text = { off: "opens when it is asked", opening: (one.text || "opening") + elapsed(one), ready: "ready", busy: "at work" + elapsed(one), failed: one.text }[one.state];
  if (card.state.textContent !== text) card.state.textContent = text;       // else a selection would end
}

// A state as the server tells it; its beginning by the page's own clock.
function keep(one) { machines.set(one.machine, { ...one, began: performance.now() - 1000 * one.seconds }); }

// What takes long shows that it goes on: seconds since the state began.
function elapsed(one) {
  const seconds = Math.floor((performance.now() - one.began) / 1000);
  return seconds < 2 ? "" : ` (for ${count(seconds)} s)`;
}
setInterval(() => { for (const card of cards.values()) show(card); }, 1000);

function cardOf(event) { return [...cards.values()].find(card => card.place.value === event.machine); }

// Events that belong to a question: those of an older one, or of another network, are left out.
function tell(event) {
  if (event.request > request) return void early.push(event);       // quicker than the answer that says its number
  const card = cardOf(event);
  if (!card || event.request !== request) return;
  if (event.kind === "result") { result(card, event); counters(card, event); }
  else if (event.kind === "counters") counters(card, event);
  else card.answer.textContent = "×";
}

function result(card, event) {
  if (event.probabilities) {
    card.answer.textContent = event.class;
    const order = event.probabilities.map((share, at) => [share, at]);
    const shown = order.length <= 10 ? order : order.sort((a, b) => b[0] - a[0]).slice(0, 10);
    card.shares.replaceChildren(...shown.map(([share, at]) => {
      const row = document.createElement("li"), name = document.createElement("span"), bar = document.createElement("meter"), value = document.createElement("span");
      row.className = at === event.class ? "first" : "";
      name.textContent = at;
      bar.value = share;
      value.textContent = `${(100 * share).toFixed(1)} %`;
      row.append(name, bar, value);
      return row;
    }));
  } else {
    card.answer.textContent = "✓";
    card.shares.replaceChildren(...Object.entries(event.outputs).map(([name, values]) => {
      const row = document.createElement("li");
      row.style.display = "block";
      row.textContent = `${name}: ${values.map(value => value.toPrecision(4)).join(", ")} …`;
      return row;
    }));
  }
  card.cycles.textContent = event.cycles ? count(event.cycles) : "not counted";
  card.time.textContent = event.microseconds ? `${event.microseconds.toLocaleString("en-US", { maximumFractionDigits: 1 })} µs at ${Number((event.clock_hz / 1e6).toPrecision(4))} MHz`
    : event.clock_note ? "not known" : "–";
  // Where the clock of the time is from, or why there is none; golden models have none.
  card.clock.textContent = event.clock_note;
  card.clocked.hidden = !event.clock_note;
  card.wall.textContent = `${event.seconds.toFixed(2)} s`;
  if ("equal" in event) {
    card.equal.textContent = event.equal ? "equal, every bit" : "differs";
    card.equal.className = `equal ${event.equal ? "yes" : "no"}`;
  } else card.equal.textContent = "this is it";
  card.article.dataset.answer = event.request;
}

function counters(card, event) {
  card.counters.replaceChildren(...Object.entries(event.counters).map(([name, value]) => {
    const row = document.createElement("tr");
    for (const text of [name, count(value)]) row.insertCell().textContent = text;
    return row;
  }));
}

function fitNetwork() {
  const one = network(), digits = one.digits;
  $("#drawing").hidden = !digits;
  $("#choosing").hidden = digits;
  $("#wanted").textContent = `input of the shape ${one.shape.join(" × ")}` + (one.image ? `, a picture of ${one.image.width} × ${one.image.height}` : ": give it as .npy");
  $("#run").disabled = true;
  given = null;
  request = 0;                        // what is still under way answers another network's question
  questions++;
  early = [];
  for (const [isa, card] of cards) {
    card.on.disabled = Boolean(one.isa) && one.isa !== isa;
    if (one.isa === isa) card.on.checked = true;
    blank(card);
    card.answer.textContent = "–";
    show(card);
  }
  if (digits && asked && ["ink", "example"].includes(asked.kind)) ask(asked);
}

function hello(state) {
  for (const one of state.machines) keep(one);
  if (!cards.size) {
    networks = state.networks;
    for (const one of networks) $("#network").add(new Option(one.title, one.key));
    makeCards(state);
    fitNetwork();
  }
  for (const card of cards.values()) show(card);
  document.body.dataset.ready = "yes";
}

$("#network").addEventListener("change", fitNetwork);
clear();
const stream = new EventSource("api/events");
stream.addEventListener("message", message => {
  const event = JSON.parse(message.data);
  if (event.kind === "hello") { trouble(); hello(event); }
  else if (event.kind === "state") {
    keep(event);
    const card = cardOf(event);
    if (card) show(card);
  } else tell(event);
});
stream.addEventListener("error", () => trouble("the studio does not answer; is it still running?"));
