/// One place and its new value, with server values resolved.
package struct Assignment: Hashable, Sendable {
    package var target: WriteTarget
    package var value: CanonicalJSON

    package init(target: WriteTarget, value: CanonicalJSON) {
        self.target = target
        self.value = value
    }
}
