// interface_test.mjs FOLDER: what runnel.js refuses, and how it reads recordings; without a module of a program.
import assert from 'node:assert/strict';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const {checkRecording, load, loadSync, readWav, RunnelError} = await import(pathToFileURL(path.join(process.argv[2], 'runnel.js')));

const refuses = (call, message) => assert.throws(call, (error) => error instanceof RunnelError && error.message === message && error.code === 0);
refuses(() => loadSync(new Uint8Array(0)), 'load: expected a WebAssembly module, found 0 bytes that begin with nothing');
refuses(() => loadSync(Uint8Array.of(0x52, 0x49, 0x46, 0x46, 1, 2, 3, 4, 5)), 'load: expected a WebAssembly module, found 9 bytes that begin with 52 49 46 46');
refuses(() => loadSync('digits'), 'load: expected an address, bytes or a WebAssembly.Module, found string');
refuses(() => loadSync(null), 'load: expected an address, bytes or a WebAssembly.Module, found null');
const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
refuses(() => loadSync(empty), 'load: expected a module of runnel embed --build-system wasm, found one without memory');
await assert.rejects(load(Uint8Array.of(0, 0x61, 0x73, 0x6d, 9, 0, 0, 0)), (error) => error instanceof RunnelError && error.message.startsWith('load: the module is damaged'));
await assert.rejects(load(new Response('', {status: 404})), (error) => error.message.includes('the server answers 404, expected a module'));

// A recording of one channel of 16 bits with these chunks before its samples.
function wav({code = 1, bits = 16, channels = 1, rate = 16000, data = [1, 2, 3, 4], before = [], size = data.length, format = true} = {}) {
  const number = (value, bytes) => Array.from({length: bytes}, (_, i) => (value >>> (8 * i)) & 0xff), text = (words) => [...words].map((one) => one.charCodeAt(0));
  const head = format ? [...text('fmt '), ...number(16, 4), ...number(code, 2), ...number(channels, 2), ...number(rate, 4), ...number(0, 4), ...number(0, 2), ...number(bits, 2)] : [];
  return Uint8Array.from([...text('RIFF'), ...number(0, 4), ...text('WAVE'), ...before, ...head, ...text('data'), ...number(size, 4), ...data]);
}
assert.deepEqual(readWav(wav()), {sampleRate: 16000, channels: 1, samples: Int16Array.of(513, 1027)});
assert.deepEqual(readWav(wav({before: [0x4c, 0x49, 0x53, 0x54, 1, 0, 0, 0, 9, 0]})).samples, Int16Array.of(513, 1027));
assert.deepEqual(readWav(wav({size: 0xffffffff})).samples, Int16Array.of(513, 1027));
assert.deepEqual(readWav(wav({code: 3, bits: 32, data: [0, 0, 128, 63]})).samples, Float32Array.of(1));
const shifted = new Uint8Array(60).fill(7);
shifted.set(wav(), 1);
assert.deepEqual(readWav(shifted.subarray(1, 1 + wav().length)).samples, Int16Array.of(513, 1027));
refuses(() => readWav(Uint8Array.of(1, 2, 3)), 'readWav: expected a RIFF WAVE file, found 3 bytes that begin with 01 02 03');
refuses(() => readWav('a.wav'), 'readWav: expected bytes, found string');
refuses(() => readWav(wav({bits: 24})), 'readWav: expected 16-bit samples or 32-bit floats, found format 1 of 24 bits in 1 channels');
refuses(() => readWav(wav({channels: 0})), 'readWav: expected 16-bit samples or 32-bit floats, found format 1 of 16 bits in 0 channels');
refuses(() => readWav(wav({size: 100})), 'readWav: expected 100 bytes of samples, found 4: the file is cut off');
refuses(() => readWav(wav({format: false})), 'readWav: expected the format before the samples, found none');
refuses(() => readWav(wav().subarray(0, 20)), 'readWav: expected a format of 16 bytes or more, found 0');
refuses(() => readWav(wav().subarray(0, 36)), 'readWav: expected samples, found a file without a chunk "data"');
const facts = {sampleRate: 16000, channels: 1};
refuses(() => checkRecording(readWav(wav({rate: 48000})), facts), 'recording: expected 16000 Hz, found 48000 Hz');
refuses(() => checkRecording(readWav(wav({channels: 2})), facts), 'recording: expected 1 channels, found 2');
// However a file is cut, it is a sentence or a recording.
const whole = wav({data: Array.from({length: 64}, (_, i) => i)});
for (let length = 0; length < whole.length; ++length) {
  try {
    readWav(whole.subarray(0, length));
    assert.fail(`a recording cut after ${length} bytes was taken`);
  } catch (error) {
    assert.ok(error instanceof RunnelError, error.stack);
  }
}
console.log('the interface refuses what it should');
