/// The users of a project in the order of their ids, read from the server page by page.
public struct UserRecords: AsyncSequence, Sendable {
    let administrator: Administrator

    /// The remaining users of the page.
    public struct Iterator: AsyncIteratorProtocol {
        let administrator: Administrator
        private var page: ArraySlice<UserRecord> = []
        private var last: String?
        private var isAtEnd = false

        init(_ administrator: Administrator) { self.administrator = administrator }

        /// The next user; nil after the last one.
        ///
        /// - throws: as ``Administrator/user(uid:)``.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(AdminError)
            -> UserRecord?
        {
            while page.isEmpty, !isAtEnd {
                let answer = try await administrator.page(after: last)
                page = answer.users[...]
                last = answer.next
                isAtEnd = answer.next == nil
            }
            return page.popFirst()
        }
    }

    /// Begins with the first user.
    public func makeAsyncIterator() -> Iterator { Iterator(administrator) }
}
