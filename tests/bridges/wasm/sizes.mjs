// sizes.mjs PACKAGE MOST: bytes of the files that a page needs, as they are and compressed; fails if the compressed module has more than MOST.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {brotliCompressSync, gzipSync} from 'node:zlib';

const [folder, most] = process.argv.slice(2);
let failed = false;
for (const name of readdirSync(folder).filter((one) => /\.(wasm|js)$/.test(one))) {
  const bytes = readFileSync(path.join(folder, name)), gzip = gzipSync(bytes, {level: 9}).length, brotli = brotliCompressSync(bytes).length;
  console.log(`${name}: ${bytes.length} bytes, gzip ${gzip}, brotli ${brotli}`);
  if (gzip > Number(most)) failed = true;
}
if (failed) {
  console.error(`a file has more than ${most} bytes compressed`);
  process.exitCode = 1;
}
