// The contracts to check a quote against: those that the visitor pinned, else what the gateway lists now.
let pinned; // a name and a file: a listing of pairs or of routers
let tool; // the client module
let client;
async function loadClient(tell) {
  tool ??= await loadPart('/v3/client/index.js', tell);
  client ??= tool.createClient({ gateway: location.origin, pinned: () => pinned?.file });
  return client;
}
const knownName = () => pinned?.name ?? 'what this gateway lists';

// A quote on the page, or under way to it, is judged by what is pinned now. A swap that is being sent stays as it is.
// Until a file is read, and if it cannot be, a quote must not be checked against less.
async function pin(source) {
  pinned = source.trim() ? { file: { data: [], settlement: {} }, name: 'a file that cannot be read' } : undefined;
  const mine = pinned;
  const before = phase;
  const { readPin } = await loadDevelopers();
  const read = await readPin(source, () => pinned === mine);
  if (pinned !== mine) return;
  pinned = read ?? mine;
  if (phase === before && (phase === 'quote' || phase === 'refused')) getQuote();
}
const pinFile = async (file) => {
  if (!file) return;
  $('pin').value = file.size <= 400_000 ? await file.text() : 'This file is too large.';
  pin($('pin').value);
};

function watchPin() {
  const box = $('pin');
  box.addEventListener('input', () => pin(box.value));
  $('pin-file').addEventListener('change', (event) => pinFile(event.target.files[0]));
  box.addEventListener('dragover', (event) => event.preventDefault());
  box.addEventListener('drop', (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    pinFile(event.dataTransfer.files[0]);
  });
}
