// Renders the React recipe of docs/integrate.md, quote.tsx, in a browser: show(request) is what the test calls.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { Quote } from './quote.tsx';

const root = createRoot(document.body);
const client = new QueryClient();
globalThis.show = (request) =>
  root.render(createElement(QueryClientProvider, { client }, createElement(Quote, { request })));
