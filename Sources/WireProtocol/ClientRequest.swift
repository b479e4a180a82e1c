package import HearthJSONTree

/// The body of a request of a client, by its action (Protocol.md 4).
package enum ClientRequest: Hashable, Sendable {
    /// `p`: set; with `hash`, only if the current value has that hash.
    case put(WireAssignment, hash: [UInt8]?)
    /// `m`: update. Targets are absolute, and none lies inside another.
    case merge(Path, [WireAssignment])
    /// `g`: read once; `cg` if the query has conditions, an addition to the protocol.
    case get(Path, query: QueryObject?)
    /// `q`: listen; `cq` if the query has conditions, an addition to the protocol. `query` is nil for a default listen;
    /// `hash` is nil when the client did not say, and so is `parts`, the compound hash (Protocol.md 4.2). With `since`,
    /// an addition to the protocol, it wants to be told of positions, and of the changes after this one; empty if it
    /// has none.
    case listen(
        Path, query: QueryObject?, tag: Int64?, hash: [UInt8]?, parts: CompoundHash.Parts? = nil, since: [UInt8]? = nil)
    /// `n`: unlisten.
    case unlisten(Path, query: QueryObject?, tag: Int64?)
    /// `o`: set a place when the connection ends.
    case onDisconnect(WireAssignment)
    /// `om`: update places when the connection ends.
    case onDisconnectMerge(Path, [WireAssignment])
    /// `oc`: cancels the on-disconnect writes at and below a place.
    case cancelOnDisconnect(Path)
    /// `ev`: listen to the events of a query; `cq` if it has conditions. An addition to the protocol, as is the next.
    case events(Path, query: QueryObject?, tag: Int64, EventKinds)
    /// `nev`: no more of them.
    case noEvents(tag: Int64)
    /// `jr`, `jx`, `jd`, `jf`, `jb`: a worker's request to a queue. An addition to the protocol.
    case job(Path, JobRequest)
    /// `s`: statistics of the client, not kept.
    case statistics
    /// `auth` and `gauth`. An administrator may act as a user: `acting` is the JSON text of `auth` for the rules,
    /// `null` for no user (`noauth`).
    case authenticate(credential: [UInt8], acting: [UInt8]? = nil)
    case unauthenticate
    /// `appcheck` and its opposite.
    case appCheck
    /// `admin`, an addition to the protocol: an administrator's request, as the text of the body.
    case admin(body: [UInt8])
    /// `h`: the past of a place, an addition to the protocol.
    case history(HistoryRequest)
    /// An action that this server does not know (yet).
    case unknown(action: [UInt8])
}
