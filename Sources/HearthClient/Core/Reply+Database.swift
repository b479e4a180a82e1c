import HearthClientSession

extension Reply where Failure == DatabaseError {
    convenience init() { self.init(cancelled: .cancelled) }
}
