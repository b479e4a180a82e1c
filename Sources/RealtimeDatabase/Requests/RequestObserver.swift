/// Is told what a database does, request by request.
package protocol RequestObserver: AnyObject {
    /// The next request is about to be worked on.
    func begin()

    /// It has to wait: for a scan, or for what its connection has asked before.
    func park(_ request: Request)

    /// Work begins that is done for a request before its turn, bit by bit.
    func beginStep()

    /// The step is over; nil if its request was abandoned.
    func endStep(for request: Request?)

    /// It is done, with `outputs`. `isUnindexed` if it is a query that has no index.
    func end(_ request: Request, _ outputs: ArraySlice<Output>, isUnindexed: Bool)
}
