// wasm.mjs PACKAGE RECORDING: the events that the package finds, as lines of JSON with the fields of `runnel listen`.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

import {eventLine} from '../wasm/desk.mjs';

const [folder, recording] = process.argv.slice(2);
const {load, readWav, checkRecording} = await import(pathToFileURL(path.join(folder, 'runnel.js')));
const node = await load(readFileSync(path.join(folder, readdirSync(folder).find((name) => name.endsWith('.wasm')))));
const wav = readWav(readFileSync(recording));
checkRecording(wav, node.facts);
function tell() {
  for (let event; (event = node.poll()) !== null; ) {
    const [label, score, start, end, frame] = eventLine(event, node.facts.sampleRate).split(' ');
    console.log(JSON.stringify({type: 'event', label, score: Number(score), start: Number(start), end: Number(end), frame: Number(frame)}));
  }
}
for (let at = 0; at < wav.samples.length; at += 128) {   // the pieces of an AudioWorklet
  node.push(wav.samples.subarray(at, at + 128));
  tell();
}
node.end();
tell();
