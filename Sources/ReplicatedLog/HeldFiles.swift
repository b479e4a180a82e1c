package import HearthEtcdMessages

/// What a node has of a database in its own files: the value of `/hearth/1/held/NAME/NODE`, which ends with the lease
/// of the node.
///
/// ```
/// held = version:1 0                          no files
///      | version:1 1 epoch:8 sequence:8       all up to this operation of this history, on disk
///      | version:1 2                          another node's files are being copied
///      | version:1 3                          files that fail: nobody is to rely on them
/// ```
/// Other nodes remove their files when holders say that they have them, and return a log to its first holder. So a node
/// says so only of files that are in their place and do not fail, and says that it has none before it removes any
/// (``FilesRemoval``). Each statement is made on condition that the one before is the last one, so that none that was
/// delayed on its way comes after a later one. Nodes of earlier versions do not know the last kind, and take it for no
/// statement.
package enum HeldFiles: Hashable, Sendable {
    case nothing
    case through(epoch: UInt64, sequence: UInt64)
    case copying
    /// They take no records, or these cannot be applied.
    case failing

    private static let version: UInt8 = 1

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        switch self {
        case .nothing: fields.add(0 as UInt8)
        case .through(let epoch, let sequence):
            fields.add(1 as UInt8)
            fields.add(epoch)
            fields.add(sequence)
        case .copying: fields.add(2 as UInt8)
        case .failing: fields.add(3 as UInt8)
        }
        return fields.bytes
    }

    /// Nil if the bytes are not a statement of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version, let kind = fields.read(UInt8.self) else { return nil }
        switch kind {
        case 0: self = .nothing
        case 1:
            guard let epoch = fields.read(UInt64.self), let sequence = fields.read(UInt64.self) else { return nil }
            self = .through(epoch: epoch, sequence: sequence)
        case 2: self = .copying
        case 3: self = .failing
        default: return nil
        }
        guard fields.isAtEnd else { return nil }
    }

    /// Whether the files have everything up to an operation of a history.
    package func has(_ sequence: UInt64, of epoch: UInt64) -> Bool {
        if case .through(epoch, let last) = self { last >= sequence } else { false }
    }
}

extension LogKeys {
    package func held(by node: String) -> [UInt8] { Array("/hearth/1/held/\(database)/\(node)".utf8) }

    package var allHeld: EtcdKeyRange { .prefix(Array("/hearth/1/held/\(database)/".utf8)) }

    /// The node whose statement a key of ``allHeld`` has.
    package func holder(of key: [UInt8]) -> String {
        String(decoding: key.dropFirst(allHeld.start.count), as: UTF8.self)
    }
}
