// One stream of notifications for all tabs of an origin: a SharedWorker. A browser opens at most six connections to a
// server over HTTP/1.1, and a stream keeps one.
//
//   const stream = new SharedWorker("stream.js");
//   stream.port.onmessage = ({data}) => { … };  // {event: "ready", "notification" or "reset", data: {…}}
//   stream.port.postMessage(url);               // …/changes/stream?ckAPIToken=…&ckWebAuthToken=…&clientId=…
//   addEventListener("pagehide", () => stream.port.postMessage(null));
//
// A tab fetches what there is after "ready" and after "reset".

const streams = new Map(); // By URL: the source, and the ports of the tabs that listen.

function leave(port) {
    for (const [url, {source, ports}] of streams) {
        if (ports.delete(port) && ports.size === 0) {
            source.close();
            streams.delete(url);
        }
    }
}

function open(url) {
    const stream = {source: new EventSource(url), ports: new Set()};
    for (const event of ["ready", "notification", "reset"]) {
        stream.source.addEventListener(event, ({data}) => {
            for (const port of stream.ports) port.postMessage({event, data: JSON.parse(data)});
        });
    }
    streams.set(url, stream);
    return stream;
}

onconnect = ({ports: [port]}) => {
    port.onmessage = ({data: url}) => {
        leave(port);
        if (url === null) return;
        const stream = streams.get(url) ?? open(url);
        stream.ports.add(port);
        // The stream may have begun for an earlier tab.
        if (stream.source.readyState === EventSource.OPEN) port.postMessage({event: "ready", data: {}});
    };
};
