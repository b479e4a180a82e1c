/// The users of a project in the order of their ids, read from the server page by page.
public struct UserRecords: AsyncSequence, Sendable {
    /// Asks for the page after a user; the first one after nil.
    typealias Page = @Sendable (String?) async throws(AdminError) -> (users: [UserRecord], next: String?)

    let page: Page

    /// The remaining users of the page.
    public struct Iterator: AsyncIteratorProtocol {
        private let nextPage: Page
        private var page: ArraySlice<UserRecord> = []
        private var last: String?
        private var isAtEnd = false

        init(_ nextPage: @escaping Page) { self.nextPage = nextPage }

        /// The next user; nil after the last one.
        ///
        /// - throws: as ``Administrator/user(uid:)``.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(AdminError)
            -> UserRecord?
        {
            while page.isEmpty, !isAtEnd {
                let answer = try await nextPage(last)
                page = answer.users[...]
                last = answer.next
                isAtEnd = answer.next == nil
            }
            return page.popFirst()
        }
    }

    /// Begins with the first user.
    public func makeAsyncIterator() -> Iterator { Iterator(page) }
}
