// The page: around load(), loadSync(), readWav() of runnel.js, which make_page.py puts before this text, with RUNNEL_MODULE (the bytes) and
// RUNNEL_WORKLET (the text of the worklet).
const element = (id) => document.getElementById(id);
const COLUMNS = 900;   // of both pictures
const COLOURS = [[76, 195, 138, 255], [82, 169, 255, 255], [255, 178, 36, 255], [255, 139, 139, 255], [191, 122, 240, 255], [46, 189, 229, 255], [247, 97, 144, 255], [158, 177, 255, 255], [226, 163, 54, 255], [99, 193, 116, 255], [192, 198, 202, 255], [138, 146, 150, 255]];

class Picture {
  constructor(canvas, height) {
    this.canvas = canvas;
    canvas.width = COLUMNS;
    canvas.height = height;
    this.context = canvas.getContext('2d');
    this.column = -1;
  }
  clear() {
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.column = -1;
  }
  // The next column, of pixels that are clear at first.
  draw(fill) {
    this.pixels ??= this.context.createImageData(1, this.canvas.height);
    this.pixels.data.fill(0);
    fill(this.pixels.data);
    this.context.putImageData(this.pixels, this.next(), 0);
  }
  // Moves the picture when its width is used up.
  next() {
    if (this.column + 1 < COLUMNS) return ++this.column;
    this.context.globalCompositeOperation = 'copy';
    this.context.drawImage(this.canvas, -COLUMNS / 3, 0);
    this.context.globalCompositeOperation = 'source-over';
    this.column -= COLUMNS / 3 - 1;
    return this.column;
  }
}
const spectrogram = new Picture(element('spectrogram'), 160), posteriors = new Picture(element('posteriors'), 128);
let facts = null, heard = null, low = 0, high = 1, before = null;

function say(text, bad = false) {
  element('said').textContent = text;
  element('said').classList.toggle('bad', bad);
  if (bad) document.body.dataset.error = text;
}
function clear() {
  spectrogram.clear();
  posteriors.clear();
  element('events').replaceChildren();
  heard = {events: [], columns: 0, features: 0, outputs: 0};
  before = null;
  low = Infinity;
  high = -Infinity;
  delete document.body.dataset.error;
  Object.assign(document.body.dataset, {events: '0', columns: '0', state: 'ready'});
}

function drawFeatures(frame) {
  for (const value of frame) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const height = spectrogram.canvas.height;
  spectrogram.draw((pixels) => {
    for (let y = 0; y < height; ++y) {
      const value = frame[Math.floor(((height - 1 - y) * frame.length) / height)], share = high > low ? (value - low) / (high - low) : 0;
      pixels.set([40 + 215 * share ** 1.5, 30 + 190 * share ** 2, 70 + 90 * Math.sin(Math.PI * share), 255], 4 * y);
    }
  });
}
// As probabilities where the model gives logarithms or sums before a softmax.
function shares(frame, scale) {
  let most = -Infinity, sum = 0;
  for (const value of frame) most = Math.max(most, value * scale);
  const out = Array.from(frame, (value) => Math.exp(value * scale - most));
  for (const one of out) sum += one;
  return out.map((one) => one / sum);
}
function drawOutput(frame) {
  const now = shares(frame, facts.output.scale), height = posteriors.canvas.height, row = (share) => Math.round((1 - share) * (height - 1));
  posteriors.draw((pixels) => {
    for (let i = 0; i < now.length; ++i) {
      const to = row(now[i]), from = before === null ? to : row(before[i]);
      for (let y = Math.min(from, to); y <= Math.max(from, to); ++y) pixels.set(COLOURS[i % COLOURS.length], 4 * y);
    }
  });
  before = now;
}
function drawFrames(stage, frames) {
  const values = facts[stage].values;
  if (stage === 'features') document.body.dataset.columns = String((heard.columns += frames.length / values));
  for (let at = 0; at < frames.length; at += values) (stage === 'features' ? drawFeatures : drawOutput)(frames.subarray(at, at + values));
}
function show(event) {
  heard.events.push({...event});
  const row = document.createElement('tr');
  for (const text of [event.label, event.score.toFixed(4), (event.begin / facts.sampleRate).toFixed(3), (event.end / facts.sampleRate).toFixed(3)])
    row.appendChild(document.createElement('td')).textContent = text;
  element('events').prepend(row);
  for (const picture of [spectrogram, posteriors]) {
    picture.context.fillStyle = '#ffffff';
    picture.context.fillRect(picture.column, 0, 1, 14);
    picture.context.fillText(event.label, Math.max(picture.column - 24, 2), 24);
  }
  document.body.dataset.events = String(heard.events.length);
}

// A file of the right rate as it is; others as the browser decodes and resamples them.
async function recordingOf(bytes) {
  let wav = null, note = '';
  try {
    wav = readWav(bytes);
  } catch (error) {
    note = error.message;
  }
  if (wav !== null && wav.sampleRate === facts.sampleRate && wav.channels === facts.channels) return {samples: wav.samples, note: ''};
  const context = new OfflineAudioContext(1, 1, facts.sampleRate);
  let decoded;
  try {
    decoded = await context.decodeAudioData(bytes.slice(0));
  } catch {
    throw new RunnelError(note || 'recording: the browser cannot decode it');
  }
  if (facts.channels !== 1) throw new RunnelError(`recording: expected ${facts.channels} channels at ${facts.sampleRate} Hz`);
  const mono = new Float32Array(decoded.length);
  for (let channel = 0; channel < decoded.numberOfChannels; ++channel) {
    const one = decoded.getChannelData(channel);
    for (let i = 0; i < one.length; ++i) mono[i] += one[i] / decoded.numberOfChannels;
  }
  return {samples: mono, note: '; decoded and resampled by the browser, so not with the bits of the desk'};
}

// Both pictures and all events of a recording; `observe` also gets the frames.
async function hear(bytes, observe = null) {
  clear();
  document.body.dataset.state = 'busy';
  try {
    const node = await load(RUNNEL_MODULE, {
      onFrames(stage, frames, first) {
        drawFrames(stage, frames);
        observe?.(stage, frames, first);
      },
    });
    facts = node.facts;
    const {samples, note} = await recordingOf(bytes), step = facts.hop * 50;
    for (let at = 0; at < samples.length; at += step) {
      node.push(samples.subarray(at, at + step));
      for (let event; (event = node.poll()) !== null; ) show(event);
      if (at / step % 8 === 7) await new Promise((resolve) => setTimeout(resolve));   // so that the pictures are seen to grow
    }
    node.end();
    for (let event; (event = node.poll()) !== null; ) show(event);
    say(`${heard.events.length} events in ${(samples.length / facts.channels / facts.sampleRate).toFixed(1)} s${note}`);
    document.body.dataset.state = 'done';
  } catch (error) {
    say(error.message, true);
    document.body.dataset.state = 'failed';
  }
  return heard.events;
}

// Seconds of computation for a recording, without pictures: what the bench of docs/wasm.md prints.
async function measure(bytes, repeats) {
  const node = await load(RUNNEL_MODULE), wav = readWav(bytes), grown = node.memoryBytes;
  const start = performance.now();
  for (let i = 0; i < repeats; ++i) {
    node.reset();
    for (let at = 0; at < wav.samples.length; at += node.facts.hop) node.push(wav.samples.subarray(at, at + node.facts.hop));
    while (node.poll() !== null);
  }
  return {seconds: (performance.now() - start) / 1000, audio: (repeats * wav.samples.length) / node.facts.sampleRate, grown: node.memoryBytes - grown};
}

// What a worklet sends is drawn when the browser draws; a busy one leaves out what it is late for.
let waiting = [];
function drawWaiting() {
  const now = waiting;
  waiting = [];
  for (const [stage, frames] of now.slice(-400)) drawFrames(stage, frames);
}
function drawLater(stage, frames) {
  if (waiting.push([stage, frames]) === 1) requestAnimationFrame(drawWaiting);
}

let microphone = null;
async function speak() {
  if (microphone !== null) {
    microphone.stream.getTracks().forEach((track) => track.stop());
    await microphone.context.close();
    microphone = null;
    element('speak').textContent = 'Speak';
    say('');
    return;
  }
  clear();
  try {
    if (!navigator.mediaDevices) throw new RunnelError('microphone: browsers give it to pages of https, of localhost and of files only');
    facts = loadSync(new WebAssembly.Module(RUNNEL_MODULE)).facts;
    const stream = await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false}});
    const context = new AudioContext({sampleRate: facts.sampleRate});
    microphone = {stream, context};
    // Not a Blob: those of a file's page have no origin, and worklets refuse them.
    await context.audioWorklet.addModule('data:text/javascript;charset=utf-8,' + encodeURIComponent(RUNNEL_WORKLET));
    const listener = new AudioWorkletNode(context, 'runnel', {numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions: {module: RUNNEL_MODULE, frames: true}});
    listener.port.onmessage = ({data}) => {
      if (data.type === 'frames') drawLater(data.stage, data.frames);
      if (data.type === 'event') show(data.event);
      if (data.type === 'error') say(data.message, true);
    };
    context.createMediaStreamSource(stream).connect(listener);
    element('speak').textContent = 'Stop';
    say(`listening at ${facts.sampleRate} Hz`);
    document.body.dataset.state = 'listening';
  } catch (error) {
    say(error.message, true);
    document.body.dataset.state = 'failed';
  }
}

element('file').addEventListener('change', async ({target}) => {
  if (target.files.length > 0) await hear(await target.files[0].arrayBuffer());
  target.value = '';
});
element('speak').addEventListener('click', speak);
const drop = element('drop');
for (const name of ['dragover', 'dragleave', 'drop']) {
  drop.addEventListener(name, async (event) => {
    event.preventDefault();
    drop.classList.toggle('over', name === 'dragover');
    if (name === 'drop' && event.dataTransfer.files.length > 0) await hear(await event.dataTransfer.files[0].arrayBuffer());
  });
}
clear();
