// Makes the page work: first what can be used at once, then what has to be asked for.
const query = new URLSearchParams(location.search);
const complete = recall(query);
$('columns').hidden = false;
showLinks();
watchForm();
watchFollow();
// What is about older versions is loaded when a visitor comes near it.
let older;
const loadOlder = () => (older ??= import('/?script=versions').then((part) => part.default({ $, el, text, field, mono, list, button, copyButton, complain, calm, refuseFields })));
$('move-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  (await loadOlder()).compareVersions();
});
const near = new IntersectionObserver(async (entries) => {
  if (!entries.some((entry) => entry.isIntersecting)) return;
  near.disconnect();
  (await loadOlder()).showVersions();
}, { rootMargin: '300px' });
near.observe($('versions'));
addEventListener('popstate', () => { if (!location.hash && ['form', 'asking', 'quote', 'refused'].includes(phase) && recall(new URLSearchParams(location.search))) getQuote(); });
watchPin();
showAccount();
watchWallets();
if (recallJourney(query)) loadClient().catch(() => {});
else if (complete) getQuote();
else loadClient().catch(() => {});
