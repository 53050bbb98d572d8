// bench.mjs PACKAGE RECORDING: seconds of sound that the package computes in a second in Node.js, in steps of one hop; the best of five runs.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, recording] = process.argv.slice(2);
const {load, readWav} = await import(pathToFileURL(path.join(folder, 'runnel.js')));
const node = await load(readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith('.wasm')))));
const {samples} = readWav(readFileSync(recording)), hop = node.facts.hop;
let best = Infinity;
for (let run = 0; run < 5; ++run) {
  node.reset();
  const start = process.cpuUsage();
  for (let at = 0; at < samples.length; at += hop) node.push(samples.subarray(at, at + hop));
  while (node.poll() !== null);
  const used = process.cpuUsage(start);
  best = Math.min(best, (used.user + used.system) / 1e6);
}
console.log(`Node.js ${process.version}: ${(samples.length / node.facts.sampleRate / best).toFixed(0)} times real time of processor time`);
