/// Is told what a database does, request by request.
package protocol RequestObserver: AnyObject {
    /// The next request is about to be worked on.
    func begin()

    /// It is done: `outputs` is what it had to say. `isUnindexed` if it is a query that has no index.
    func end(_ request: Request, _ outputs: ArraySlice<Output>, isUnindexed: Bool)
}
