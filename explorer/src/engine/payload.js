// Opens what src/thresher/report/payload.py packs: facts as JSON, and arrays of numbers.

const TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

/** The facts of a page, with every `{"array": place}` in them replaced by its typed array. */
export async function opened(base64) {
  const bytes = await inflated(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const facts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  const arrays = facts.arrays.map(([type, size]) => {
    const [array, end] = unshuffled(bytes, at, TYPES[type], size);
    at = end;
    return array;
  });
  return withArrays(facts, arrays);
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** An array whose first bytes are stored first, then its second ones, and so on: that packs well. */
function unshuffled(bytes, at, Type, size) {
  const width = Type.BYTES_PER_ELEMENT;
  const found = new Uint8Array(size * width);
  for (let plane = 0; plane < width; plane++)
    for (let i = 0; i < size; i++) found[i * width + plane] = bytes[at++];
  return [new Type(found.buffer), at];
}

function withArrays(value, arrays) {
  if (Array.isArray(value)) return value.map((entry) => withArrays(entry, arrays));
  if (value === null || typeof value !== "object") return value;
  if ("array" in value) return arrays[value.array];
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withArrays(entry, arrays)]));
}
