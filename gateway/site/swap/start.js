// Makes the page work: first what can be used at once, then what has to be asked for.
watchForm();
watchFollow();
watchHistory();
watchMenus();
watchPin();
showAccount();
watchWallets();
arrive();
loadEstimator().catch(() => {});
