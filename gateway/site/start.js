// Makes the page work: first what can be used at once, then what has to be asked for.
$('about').prepend(`Deployment “${listing.deployment}”. `);
watchForm();
watchFollow();
watchHistory();
// What is for developers is loaded when a visitor comes near it.
let loading;
const loadDevelopers = () => (loading ??= loadPart('/?script=developers', () => true).then((part) => {
  developers = part.default({ $, el, text, field, mono, list, button, copyButton, complain, calm, refuseFields, day, timeOf, listing, readForm, source, target, isPrivate, networkOf, chainName, loadClient,
    put, facts, money, short, pairs, byKey, HUB, showAmount, duration, TITLE, newSwap, leaveSwap, choose, changed, enter, formQuery, coinOf, openJourney,
    explainWallet: (error) => explain(sender.sendErrorOf(error)) });
  developers.showSnippets();
  developers.showReference();
  return developers;
}));
$('move-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  (await loadDevelopers()).compareVersions();
});
const near = new IntersectionObserver(async (entries) => {
  if (!entries.some((one) => one.isIntersecting)) return;
  near.disconnect();
  (await loadDevelopers()).showVersions();
}, { rootMargin: '300px' });
near.observe($('developers'));
watchPin();
showAccount();
watchWallets();
arrive();
loadClient().catch(() => {});
