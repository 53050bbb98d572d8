// Runs RNNoise (npm package @jitsi/rnnoise-wasm) over files of bare float32 samples at 48 kHz, for evaluate.py.
//     node rnnoise.mjs PACKAGE_FOLDER IN.f32 OUT.f32 [IN.f32 OUT.f32]...
// Frames of 480 samples in the range of int16, as RNNoise takes them; a new state for each file. The last, incomplete frame is filled with zeros.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const { default: load } = await import(pathToFileURL(`${folder}/dist/rnnoise-sync.js`));
const module = await load();
const kFrame = 480;
const place = module._malloc(4 * kFrame);
for (let f = 0; f + 1 < files.length; f += 2) {
  const bytes = readFileSync(files[f]);
  const samples = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const out = new Float32Array(Math.ceil(samples.length / kFrame) * kFrame);
  const state = module._rnnoise_create();
  for (let at = 0; at < out.length; at += kFrame) {
    const frame = new Float32Array(kFrame);
    frame.set(samples.subarray(at, Math.min(at + kFrame, samples.length)));
    module.HEAPF32.set(frame.map((x) => x * 32768), place / 4);
    module._rnnoise_process_frame(state, place, place);
    out.set(module.HEAPF32.subarray(place / 4, place / 4 + kFrame).map((x) => x / 32768), at);
  }
  module._rnnoise_destroy(state);
  writeFileSync(files[f + 1], Buffer.from(out.buffer));
}
