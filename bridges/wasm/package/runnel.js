// runnel in JavaScript: loads a module of `runnel embed --build-system wasm`, takes samples, gives decisions. For browsers, workers,
// AudioWorklets and Node.js; it uses WebAssembly and nothing else. Types and errors: runnel.d.ts.

/** A failure: one sentence with place, expected and found. `code` is that of runnel_stream.h, 0 for a wrong call. */
export class RunnelError extends Error {
  constructor(message, code = 0) {
    super(message);
    this.name = 'RunnelError';
    this.code = code;
  }
}

const STAGES = ['features', 'output'];
const ARRAYS = [null, Int8Array, Int16Array, Int32Array, Float32Array];
const TYPES = ['', 'int8', 'int16', 'int32', 'float32'];
const EXPORTS = ['memory', 'start', 'facts', 'label', 'failure', 'code_text', 'push', 'lost', 'end', 'reset', 'poll', 'count', 'set_gate'];
// struct Facts of module.cpp: 13 numbers of 4 bytes, then, at a multiple of 8, two stages of 48 bytes.
const FACTS_STAGES = 56, STAGE_BYTES = 48;
// struct Frames: count, lost, first (double), bytes, then, at a multiple of 16, the frames.
const FRAMES_DATA = 32;

/** Loads from an address (string, URL, Response), from bytes, or from a WebAssembly.Module. */
export async function load(source, options = {}) {
  let from = source;
  if (from instanceof URL && from.protocol === 'file:' && typeof process !== 'undefined') {
    const {readFile} = await import('node:fs/promises');   // fetch() of Node.js does not take files
    from = await readFile(from);
  }
  if (typeof from === 'string' || from instanceof URL) from = await fetch(from);
  if (typeof Response !== 'undefined' && from instanceof Response) {
    if (!from.ok) throw new RunnelError(`${from.url}: the server answers ${from.status}, expected a module`);
    from = await from.arrayBuffer();
  }
  if (!(from instanceof WebAssembly.Module)) from = await compiled(from, (bytes) => WebAssembly.compile(bytes));
  return new Runnel(await WebAssembly.instantiate(checked(from), {}), options);
}

/** The same at once, for AudioWorklets and workers; from bytes or a WebAssembly.Module. */
export function loadSync(source, options = {}) {
  let module = source;
  if (!(module instanceof WebAssembly.Module)) {
    checkBytes(module);
    try {
      module = new WebAssembly.Module(module);
    } catch (error) {
      throw notCompiled(error);
    }
  }
  return new Runnel(new WebAssembly.Instance(checked(module), {}), options);
}

function checkBytes(source) {
  if (!(source instanceof ArrayBuffer) && !ArrayBuffer.isView(source))
    throw new RunnelError(`load: expected an address, bytes or a WebAssembly.Module, found ${describe(source)}`);
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (bytes.length < 8 || bytes[0] !== 0 || bytes[1] !== 0x61 || bytes[2] !== 0x73 || bytes[3] !== 0x6d)
    throw new RunnelError(`load: expected a WebAssembly module, found ${bytes.length} bytes that begin with ${hex(bytes)}`);
}
async function compiled(source, compile) {
  checkBytes(source);
  try {
    return await compile(source);
  } catch (error) {
    throw notCompiled(error);
  }
}
function notCompiled(error) {
  return new RunnelError(`load: the module is damaged, or this engine has no 128-bit vectors: ${error.message}`);
}
function checked(module) {
  const names = WebAssembly.Module.exports(module).map((one) => one.name);
  const missing = EXPORTS.filter((name) => !names.includes(name));
  if (missing.length > 0 || WebAssembly.Module.imports(module).length > 0)
    throw new RunnelError(`load: expected a module of runnel embed --build-system wasm, found one without ${missing[0] ?? 'a life of its own: it imports'}`);
  return module;
}
function hex(bytes) {
  return Array.from(bytes.subarray(0, 4), (one) => one.toString(16).padStart(2, '0')).join(' ') || 'nothing';
}
function describe(value) {
  return value === null ? 'null' : typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
}

/** One stream through the program of a module. */
export class Runnel {
  #exports;
  #memory;
  #view;
  #room;
  #roomFrames;
  #events;
  #counters;
  #labels = [];
  #onFrames;
  #frames = [null, null];

  /** Use load() or loadSync(). */
  constructor(instance, options) {
    this.#exports = instance.exports;
    this.#memory = instance.exports.memory;
    this.#onFrames = options.onFrames ?? null;
    this.#check(this.#exports.start(this.#onFrames === null ? 0 : 1), 'load');
    // The memory does not grow after this, so views of it stay valid.
    this.#view = new DataView(this.#memory.buffer);
    const facts = this.#exports.facts(), number = (index) => this.#view.getUint32(facts + 4 * index, true);
    const sampleBytes = number(3), channels = number(5);
    this.#roomFrames = number(2);
    this.#room = new (sampleBytes === 2 ? Int16Array : Float32Array)(this.#memory.buffer, number(1), this.#roomFrames * channels);
    this.#events = number(9);
    this.#counters = number(10);
    for (let i = 0; i < number(7); ++i) this.#labels.push(this.#text(this.#exports.label(i)));
    const stages = STAGES.map((_, i) => this.#stage(facts + FACTS_STAGES + i * STAGE_BYTES));
    this.facts = Object.freeze({
      name: this.#text(number(0)),
      sampleRate: number(4),
      channels,
      sampleType: sampleBytes === 2 ? 'int16' : 'float32',
      hop: number(6),
      labels: Object.freeze([...this.#labels]),
      modelBytes: number(8),
      memoryBytes: this.#memory.buffer.byteLength,
      features: stages[0],
      output: stages[1],
    });
    for (let i = 0; i < 2 && this.#onFrames !== null; ++i) {
      if (stages[i] === null) continue;
      const at = number(11 + i);
      this.#frames[i] = {at, data: new (ARRAYS[TYPES.indexOf(stages[i].type)])(this.#memory.buffer, at + FRAMES_DATA, Math.floor(65536 / stages[i].bytes) * stages[i].values)};
    }
  }

  /** Bytes of the memory of the module: constant after load(). */
  get memoryBytes() {
    return this.#memory.buffer.byteLength;
  }

  /** Takes any number of samples, interleaved where there are several channels. */
  push(samples) {
    const channels = this.facts.channels, given = samples instanceof Int16Array ? 'int16' : samples instanceof Float32Array ? 'float32' : '';
    if (given === '') throw new RunnelError(`push: expected an Int16Array or a Float32Array, found ${describe(samples)}`);
    if (samples.length % channels !== 0)
      throw new RunnelError(`push: expected a multiple of ${channels} values, one for each channel, found ${samples.length}`);
    const step = Math.min(this.#roomFrames, this.#onFrames === null ? this.#roomFrames : this.facts.hop) * channels;
    if (given === 'float32') {
      // All of it before the first sample is taken.
      for (let i = 0; i < samples.length; ++i) {
        if (!Number.isFinite(samples[i])) throw new RunnelError(`push: expected finite samples, found ${samples[i]} at ${i}`);
      }
    }
    for (let at = 0; at < samples.length; at += step) {
      const count = Math.min(step, samples.length - at);
      this.#fill(samples, given, at, count);
      this.#check(this.#exports.push(count / channels), 'push');
      if (this.#onFrames !== null) this.#tell();
    }
  }

  #fill(samples, given, at, count) {
    const room = this.#room, own = this.facts.sampleType;
    if (own === 'int16' && given === 'float32') {
      for (let i = 0; i < count; ++i) room[i] = toInt16(samples[at + i]);
    } else {
      const scale = own === 'float32' && given === 'int16' ? 1 / 32768 : 1;
      for (let i = 0; i < count; ++i) room[i] = samples[at + i] * scale;
    }
  }

  /** The oldest decision that waits, or null. `into`: an object that is filled instead of a new one. */
  poll(into = {}) {
    if (this.#exports.poll() === 0) return null;
    const at = this.#events, view = this.#view, index = view.getInt32(at + 4, true);
    into.label = index < 0 ? this.#text(view.getUint32(at, true)) : this.#labels[index];
    into.labelIndex = index;
    into.score = view.getFloat64(at + 8, true);
    into.begin = view.getFloat64(at + 16, true);
    into.end = view.getFloat64(at + 24, true);
    into.frame = view.getFloat64(at + 32, true);
    return into;
  }

  /** Samples (of all channels) that were lost before the next ones. */
  lost(frames) {
    if (!Number.isSafeInteger(frames) || frames < 0) throw new RunnelError(`lost: expected a number of samples from 0, found ${frames}`);
    this.#check(this.#exports.lost(frames), 'lost');
  }

  /** The stream has ended. */
  end() {
    this.#check(this.#exports.end(), 'end');
    if (this.#onFrames !== null) this.#tell();
  }

  /** As after load(). */
  reset() {
    this.#check(this.#exports.reset(), 'reset');
  }

  /** Skips blocks whose variance is below `threshold`, after `hold` samples; 0: none. */
  setGate(threshold, hold) {
    this.#check(this.#exports.set_gate(threshold, hold), 'setGate');
  }

  counters() {
    this.#exports.count();
    const number = (index) => this.#view.getFloat64(this.#counters + 8 * index, true);
    return {samples: number(0), lost: number(1), gated: number(2), gaps: number(3), events: number(4), droppedEvents: number(5), memoryUsed: number(6)};
  }

  // Hands the frames of the last call to the observer; the arrays are views that the next call overwrites.
  #tell() {
    for (let i = 0; i < 2; ++i) {
      const frames = this.#frames[i];
      if (frames === null) continue;
      const count = this.#view.getUint32(frames.at, true), lost = this.#view.getUint32(frames.at + 4, true);
      if (lost > 0) throw new RunnelError(`onFrames: ${lost} frames of ${STAGES[i]} were more than there is room for`);
      if (count > 0)
        this.#onFrames(STAGES[i], frames.data.subarray(0, count * this.facts[STAGES[i]].values), this.#view.getFloat64(frames.at + 8, true));
    }
  }

  #stage(at) {
    const view = this.#view, type = view.getUint32(at, true), values = view.getUint32(at + 4, true);
    if (type === 0) return null;
    return Object.freeze({
      type: TYPES[type],
      values,
      bytes: values * ARRAYS[type].BYTES_PER_ELEMENT,
      scale: 2 ** view.getInt32(at + 8, true),
      hop: view.getFloat64(at + 16, true) / view.getFloat64(at + 40, true),
      begin: view.getFloat64(at + 24, true) / view.getFloat64(at + 40, true),
      span: view.getFloat64(at + 32, true) / view.getFloat64(at + 40, true),
    });
  }

  #text(at) {
    const bytes = new Uint8Array(this.#memory.buffer);
    let end = at;
    while (bytes[end] !== 0) ++end;
    return utf8(bytes.subarray(at, end));
  }

  #check(code, call) {
    if (code === 0) return;
    throw new RunnelError(`${call}: ${this.#text(this.#exports.failure()) || this.#text(this.#exports.code_text(code))}`, code);
  }
}

function toInt16(value) {
  const scaled = Math.round(value * 32768);
  return scaled > 32767 ? 32767 : scaled < -32768 ? -32768 : scaled;
}

// AudioWorklets have no TextDecoder.
function utf8(bytes) {
  let text = '';
  for (const byte of bytes) text += '%' + byte.toString(16).padStart(2, '0');
  return decodeURIComponent(text);
}

/** A recording: a RIFF WAVE file of 16-bit samples or of floats. */
export function readWav(source) {
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : null;
  if (bytes === null) throw new RunnelError(`readWav: expected bytes, found ${describe(source)}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (at) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || tag(0) !== 'RIFF' || tag(8) !== 'WAVE')
    throw new RunnelError(`readWav: expected a RIFF WAVE file, found ${bytes.length} bytes that begin with ${hex(bytes)}`);
  let format = null;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = tag(at), size = view.getUint32(at + 4, true), body = at + 8;
    if (name === 'fmt ') {
      if (size < 16 || body + 16 > bytes.length) throw new RunnelError(`readWav: expected a format of 16 bytes or more, found ${Math.min(size, bytes.length - body)}`);
      const code = view.getUint16(body, true), extended = code === 0xfffe && size >= 26 && body + 26 <= bytes.length;
      format = {code: extended ? view.getUint16(body + 24, true) : code, channels: view.getUint16(body + 2, true), sampleRate: view.getUint32(body + 4, true), bits: view.getUint16(body + 14, true)};
      const known = (format.code === 1 && format.bits === 16) || (format.code === 3 && format.bits === 32);
      if (!known || format.channels < 1)
        throw new RunnelError(`readWav: expected 16-bit samples or 32-bit floats, found format ${format.code} of ${format.bits} bits in ${format.channels} channels`);
    } else if (name === 'data') {
      if (format === null) throw new RunnelError('readWav: expected the format before the samples, found none');
      // As elsewhere in runnel: a size that a recorder could not write in advance means all that follows.
      const room = bytes.length - body, open = size === 0 || size === 0xffffffff, width = (format.bits / 8) * format.channels;
      if (size > room && !open) throw new RunnelError(`readWav: expected ${size} bytes of samples, found ${room}: the file is cut off`);
      const frames = Math.floor((open ? room : size) / width), copy = bytes.slice(body, body + frames * width).buffer;
      return {sampleRate: format.sampleRate, channels: format.channels, samples: format.code === 1 ? new Int16Array(copy) : new Float32Array(copy)};
    }
    at = body + size + (size % 2);
  }
  throw new RunnelError('readWav: expected samples, found a file without a chunk "data"');
}

/** Refuses a recording that the program does not take. */
export function checkRecording(recording, facts) {
  if (recording.sampleRate !== facts.sampleRate) throw new RunnelError(`recording: expected ${facts.sampleRate} Hz, found ${recording.sampleRate} Hz`);
  if (recording.channels !== facts.channels) throw new RunnelError(`recording: expected ${facts.channels} channels, found ${recording.channels}`);
}
