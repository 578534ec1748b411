// Builds the page's script and style into the Python package: `make explorer`.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../src/thresher/report/bundle");

/** The hash of all that goes into the bundle; a test compares it with the one inside the bundle. */
export function hashOfSources() {
  const files = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash("sha256");
  for (const file of [...files, join(here, "build.js"), join(here, "package-lock.json")].sort()) {
    hash.update(relative(here, file).replaceAll("\\", "/")).update("\0").update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

/** The licences of the packages that are in the bundle. */
function licences(inputs) {
  const names = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean);
  return [...new Set(names)].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(72)}\n\n`);
}

async function build() {
  const { build: bundle } = await import("esbuild");
  const hash = hashOfSources();
  const { metafile } = await bundle({
    absWorkingDir: here,
    entryPoints: { explorer: "src/app/main.jsx" },
    outdir: target,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    banner: { js: `/* thresher explorer, built by make explorer from sources ${hash}; licences: licences.txt */` },
  });
  await bundle({ absWorkingDir: here, entryPoints: ["src/explorer.css"], outdir: target, minify: true, legalComments: "none" });
  writeFileSync(join(target, "licences.txt"), licences(metafile.inputs));
}

if (process.argv[2] === "hash") console.log(hashOfSources());
else await build();
