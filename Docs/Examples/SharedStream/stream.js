// One stream of notifications for all tabs of an origin: a SharedWorker. A browser opens at most six connections to a
// server over HTTP/1.1, and a stream keeps one.
//
//   const stream = new SharedWorker("stream.js");
//   const listen = () => stream.port.postMessage({name, url});
//   stream.port.onmessage = ({data}) => { … };  // {event: "ready", "notification", "reset" or "end", data: {…}}
//   listen();
//   addEventListener("pagehide", () => stream.port.postMessage(null));
//   addEventListener("pageshow", ({persisted}) => { if (persisted) listen(); });
//
// The name is the same in all tabs of a user, and another one for every other user: the userRecordName. Tabs share the
// stream of their name, though the tokens in their URLs differ. The URL is that of the stream:
// …/changes/stream?ckAPIToken=…&ckWebAuthToken=…&clientId=…, where the clientId is not that of a tab's requests: a stream
// is not told of the changes of its own client, and the other tabs have to hear of them.
//
// A tab fetches what there is after "ready" and after "reset". After "end" the server has refused the stream, for
// example because the session ended: the tab sends any request to find out why, and listens again with a good token.

const streams = new Map(); // By name: the source, and the ports of the tabs that listen.

function leave(port) {
    for (const [name, {source, ports}] of streams) {
        if (ports.delete(port) && ports.size === 0) {
            source.close();
            streams.delete(name);
        }
    }
}

function open(name, url) {
    const stream = {source: new EventSource(url), ports: new Set()};
    const tell = (event, data) => {
        for (const port of stream.ports) port.postMessage({event, data});
    };
    for (const event of ["ready", "notification", "reset"]) {
        stream.source.addEventListener(event, ({data}) => tell(event, JSON.parse(data)));
    }
    stream.source.onerror = () => {
        // Otherwise the browser connects again by itself.
        if (stream.source.readyState !== EventSource.CLOSED) return;
        streams.delete(name);
        tell("end", {});
    };
    streams.set(name, stream);
    return stream;
}

onconnect = ({ports: [port]}) => {
    port.onmessage = ({data}) => {
        leave(port);
        if (data === null) return;
        const stream = streams.get(data.name) ?? open(data.name, data.url);
        stream.ports.add(port);
        // The stream may have begun for an earlier tab.
        if (stream.source.readyState === EventSource.OPEN) port.postMessage({event: "ready", data: {}});
    };
};
