/// Hearing of sign-ins.
extension Auth {
    /// Calls a block with who is signed in now, and again whenever it is somebody else.
    @discardableResult
    public func addStateDidChangeListener(
        _ listener: @escaping @Sendable (Auth, User?) -> Void
    ) -> AuthStateDidChangeListenerHandle {
        AuthStateDidChangeListenerHandle(number: add(listener, wantsTokens: false))
    }

    /// Ends a listener. A call that is under way goes on.
    public func removeStateDidChangeListener(_ handle: AuthStateDidChangeListenerHandle) {
        core.removeListener(handle.number)
    }

    /// Calls a block with who is signed in now, and again whenever it is somebody else or there is a new ID token.
    @discardableResult
    public func addIDTokenDidChangeListener(
        _ listener: @escaping @Sendable (Auth, User?) -> Void
    ) -> IDTokenDidChangeListenerHandle {
        IDTokenDidChangeListenerHandle(number: add(listener, wantsTokens: true))
    }

    /// Ends a listener. A call that is under way goes on.
    public func removeIDTokenDidChangeListener(_ handle: IDTokenDidChangeListenerHandle) {
        core.removeListener(handle.number)
    }

    private func add(_ listener: @escaping @Sendable (Auth, User?) -> Void, wantsTokens: Bool) -> Int {
        core.add(
            AuthCore.Listener(wantsTokens: wantsTokens) { [weak self] user in
                if let self { listener(self, user) }
            })
    }

    /// Who is signed in now, and then each change. Ends with the task, and with the ``Auth``.
    public var stateChanges: some AsyncSequence<User?, Never> & Sendable { changes(wantsTokens: false) }

    /// Who is signed in now, and then each change of the user or the ID token. Ends with the task, and with the
    /// ``Auth``.
    public var idTokenChanges: some AsyncSequence<User?, Never> & Sendable { changes(wantsTokens: true) }

    private func changes(wantsTokens: Bool) -> AsyncStream<User?> {
        let (stream, continuation) = AsyncStream<User?>.makeStream()
        let number = core.add(
            AuthCore.Listener(wantsTokens: wantsTokens) {
                continuation.yield($0)
            } finish: {
                continuation.finish()
            })
        continuation.onTermination = { [weak core] _ in core?.removeListener(number) }
        return stream
    }
}

/// A listener that was added.
public struct AuthStateDidChangeListenerHandle: Hashable, Sendable {
    let number: Int
}

/// A listener that was added.
public struct IDTokenDidChangeListenerHandle: Hashable, Sendable {
    let number: Int
}
