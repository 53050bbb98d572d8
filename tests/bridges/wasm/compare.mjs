// compare.mjs PACKAGE RECORDING DESK: the package NAME.wasm in Node.js over a recording, against DESK.features.npy, DESK.output.npy and DESK.events
// of this machine: every byte, however the samples are cut; then failures, and the memory, which must not grow.
import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

import {bodyOfNpy, deskEvents, eventLine} from './desk.mjs';

const [folder, recording, desk] = process.argv.slice(2);
const {load, loadSync, readWav, checkRecording, RunnelError} = await import(pathToFileURL(path.join(folder, 'runnel.js')));
const module = readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith('.wasm'))));
const wav = readWav(readFileSync(recording));
const expected = {features: bodyOfNpy(`${desk}.features.npy`), output: bodyOfNpy(`${desk}.output.npy`), events: deskEvents(`${desk}.events`)};

async function hear(samples, sizes) {
  const parts = {features: [], output: []}, next = {features: 0, output: 0}, events = [];
  const node = await load(module, {
    onFrames(stage, frames, first) {
      assert.equal(first, next[stage], `${stage}: frames follow each other`);
      next[stage] += frames.length / node.facts[stage].values;
      parts[stage].push(Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength).toString('latin1'));
    },
  });
  checkRecording(wav, node.facts);
  const before = node.memoryBytes;
  for (let at = 0, i = 0; at < samples.length; ++i) {
    const size = sizes(i);
    node.push(samples.subarray(at, at + size));
    at += size;
    for (let event; (event = node.poll()) !== null; ) events.push(eventLine(event, node.facts.sampleRate));
  }
  node.end();
  for (let event; (event = node.poll()) !== null; ) events.push(eventLine(event, node.facts.sampleRate));
  assert.equal(node.memoryBytes, before, 'the memory grew');
  const counters = node.counters();
  assert.equal(counters.samples, samples.length);
  assert.equal(counters.droppedEvents, 0);
  return {features: Buffer.from(parts.features.join(''), 'latin1'), output: Buffer.from(parts.output.join(''), 'latin1'), events, counters, memory: before};
}

// A generator with a fixed seed: every run cuts alike.
let seed = 1;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
const cuts = {hops: () => 160, 'random pieces': () => 1 + Math.floor(random() ** 3 * 5000), 'blocks of 128': () => 128, seconds: () => 16000};
let found;
for (const [name, sizes] of Object.entries(cuts)) {
  found = await hear(wav.samples, sizes);
  for (const stage of ['features', 'output']) assert.ok(found[stage].equals(expected[stage]), `${name}: ${stage} differ from the desk`);
  assert.deepEqual(found.events, expected.events, `${name}: events`);
}
const floats = Float32Array.from(wav.samples, (one) => one / 32768);
assert.deepEqual((await hear(floats, () => 128)).events, expected.events, 'floats: events');
assert.ok(expected.events.length > 0 && expected.features.length > 0 && expected.output.length > 0, 'the recording gives nothing to compare');

// A second stream of the same instance, a gap, and saved time.
const node = loadSync(module);
assert.throws(() => node.push(new Uint8Array(4)), new RunnelError('push: expected an Int16Array or a Float32Array, found Uint8Array'));
assert.throws(() => node.push(Float32Array.of(0, NaN)), new RunnelError('push: expected finite samples, found NaN at 1'));
assert.throws(() => node.push(Float32Array.of(Infinity)), /found Infinity at 0/);
assert.throws(() => node.lost(-1), /expected a number of samples from 0, found -1/);
assert.throws(() => node.lost(0.5), /found 0.5/);
assert.throws(() => node.setGate(-1, 0), (error) => error instanceof RunnelError && error.code === 1);
assert.equal(node.counters().samples, 0, 'refused samples were taken');
for (let round = 0; round < 2; ++round) {
  node.push(wav.samples.subarray(0, 16000 * 10));
  node.end();
  const events = [];
  for (let event; (event = node.poll()) !== null; ) events.push(eventLine(event, 16000));
  assert.throws(() => node.push(wav.samples.subarray(0, 160)), /push: samples after the end of the stream: reset first/);
  assert.deepEqual(events, expected.events.slice(0, events.length));
  node.reset();
}
node.push(wav.samples.subarray(0, 1600));
node.lost(800);
node.push(wav.samples.subarray(2400, 4800));
assert.equal(node.counters().lost, 800);
assert.equal(node.counters().gaps, 1);

// A damaged model inside of a module that engines accept.
const label = 'RNL1', damaged = Buffer.from(module), place = damaged.lastIndexOf(label);
{
  assert.ok(place >= 0, 'the module has no model');
  damaged[place + 40] ^= 0x40;
  await assert.rejects(load(damaged), (error) => error instanceof RunnelError && error.code !== 0);
}
await assert.rejects(load(module.subarray(0, module.length / 2)), /load: the module is damaged/);
const text = `${expected.events.length} events, ${expected.features.length} bytes of features and ${expected.output.length} of outputs`;
console.log(`the bytes of the desk in Node.js ${process.version}: ${text}, cut in ${Object.keys(cuts).length} ways; ${found.memory} bytes of memory, ${found.counters.memoryUsed} used`);
