/// Hearing of sign-ins.
extension Auth {
    /// Calls a block with who is signed in now, and again whenever it is somebody else.
    @discardableResult
    public func addStateDidChangeListener(
        _ listener: @escaping @Sendable (Auth, User?) -> Void
    ) -> AuthStateDidChangeListenerHandle {
        AuthStateDidChangeListenerHandle(number: add(listener, .user))
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
        IDTokenDidChangeListenerHandle(number: add(listener, .token))
    }

    /// Ends a listener. A call that is under way goes on.
    public func removeIDTokenDidChangeListener(_ handle: IDTokenDidChangeListenerHandle) {
        core.removeListener(handle.number)
    }

    private func add(_ listener: @escaping @Sendable (Auth, User?) -> Void, _ interest: AuthCore.News) -> Int {
        core.add(
            AuthCore.Listener(interest) { [weak self] user in
                if let self { listener(self, user) }
            })
    }

    /// Who is signed in now, and then each change. Ends with the task, and with the ``Auth``.
    public var stateChanges: some AsyncSequence<User?, Never> & Sendable { changes(.user) }

    /// Who is signed in now, and then each change of the user or the ID token. Ends with the task, and with the
    /// ``Auth``.
    public var idTokenChanges: some AsyncSequence<User?, Never> & Sendable { changes(.token) }

    /// Who is signed in now, and then each change of the user, the ID token or what is known of the user: name,
    /// picture, address, ways to sign in. What was changed elsewhere is known after ``User/reload()``. Ends with the
    /// task, and with the ``Auth``.
    public var userChanges: some AsyncSequence<User?, Never> & Sendable { changes(.description) }

    private func changes(_ interest: AuthCore.News) -> AsyncStream<User?> {
        let (stream, continuation) = AsyncStream<User?>.makeStream()
        let number = core.add(
            AuthCore.Listener(interest) {
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
