/// Listeners for sign-ins.
extension Auth {
    /// Calls a block with the signed-in user, and again after each change of user.
    @discardableResult
    public func addStateDidChangeListener(
        _ listener: @escaping @Sendable (Auth, User?) -> Void
    ) -> AuthStateDidChangeListenerHandle {
        AuthStateDidChangeListenerHandle(number: add(listener, .user))
    }

    /// Removes a listener. A call that has begun still finishes.
    public func removeStateDidChangeListener(_ handle: AuthStateDidChangeListenerHandle) {
        core.removeListener(handle.number)
    }

    /// Calls a block with the signed-in user, and again after each change of user or ID token.
    @discardableResult
    public func addIDTokenDidChangeListener(
        _ listener: @escaping @Sendable (Auth, User?) -> Void
    ) -> IDTokenDidChangeListenerHandle {
        IDTokenDidChangeListenerHandle(number: add(listener, .token))
    }

    /// Removes a listener. A call that has begun still finishes.
    public func removeIDTokenDidChangeListener(_ handle: IDTokenDidChangeListenerHandle) {
        core.removeListener(handle.number)
    }

    private func add(_ listener: @escaping @Sendable (Auth, User?) -> Void, _ interest: AuthCore.News) -> Int {
        core.add(
            AuthCore.Listener(interest) { [weak self] user in
                if let self { listener(self, user) }
            })
    }

    /// The signed-in user, and then each change. Ends with the task, and with the ``Auth``.
    public var stateChanges: some AsyncSequence<User?, Never> & Sendable { changes(.user) }

    /// The signed-in user, and then each change of the user or the ID token. Ends with the task, and with the ``Auth``.
    public var idTokenChanges: some AsyncSequence<User?, Never> & Sendable { changes(.token) }

    /// The signed-in user, and then each change of the user, the ID token or the user's data: name, picture, address,
    /// providers. Changes made elsewhere are seen after ``User/reload()``. Ends with the task, and with the ``Auth``.
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

/// The handle of a listener.
public struct AuthStateDidChangeListenerHandle: Hashable, Sendable {
    let number: Int
}

/// The handle of a listener.
public struct IDTokenDidChangeListenerHandle: Hashable, Sendable {
    let number: Int
}
