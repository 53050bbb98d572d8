// What `runnel run` writes, in the form that tests compare.
import {readFileSync} from 'node:fs';

/** The numbers of a .npy file as bytes. */
export function bodyOfNpy(file) {
  const bytes = readFileSync(file);
  return bytes.subarray(10 + bytes.readUInt16LE(8));
}

/** Events of a .jsonl file: label, score, start, end, frame, as printed there. */
export function deskEvents(file) {
  return readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('"type":"event"')).map((line) => {
    const field = (name) => line.match(new RegExp(`"${name}":"?([^",}]*)`))[1];
    return ['label', 'score', 'start', 'end', 'frame'].map(field).join(' ');
  });
}

/** The same of an event of runnel.js: seconds with three digits, rounded half up. */
export function eventLine(event, rate) {
  const seconds = (samples) => (Math.floor((samples * 1000 + rate / 2) / rate) / 1000).toFixed(3);
  return `${event.label} ${event.score.toFixed(4)} ${seconds(event.begin)} ${seconds(event.end)} ${event.frame}`;
}
