// Browsers start no worker for pages that are opened as files. This one runs the script of a worker, that of the search,
// in a hidden frame of the page.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.onmessage = null;
    this.addEventListener("message", (event) => this.onmessage?.(event));
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inner = frame.contentWindow;
    inner.document.open();
    inner.document.write("<!DOCTYPE html><html><head></head><body></body></html>");
    inner.document.close();
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inner.importScripts = (...urls) =>
      urls.reduce((before, next) => before.then(() => addScript(inner.document, next)), Promise.resolve());
    this.loaded = addScript(inner.document, url).then(() => inner);
  }

  postMessage(data) {
    this.loaded.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {}
}

function addScript(page, url) {
  return new Promise((resolve, reject) => {
    const script = page.createElement("script");
    script.src = new URL(url, location.href);
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
    page.head.append(script);
  });
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
