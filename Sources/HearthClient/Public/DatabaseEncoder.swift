import HearthBytes
import HearthJSONValues

/// Converts `Encodable` values to database values.
///
/// - Members that are nil are left out: a database holds no null.
/// - Dictionaries with string keys become objects, arrays become objects with the keys `0`, `1`, …
/// - A member of type ``DatabaseValue`` is written unchanged, so a type can hold server values.
/// - `Date`, `Data` and `URL` of Foundation become numbers of milliseconds since 1970, Base64 text and text, unless the
///   strategies differ.
///
/// A database encodes with ``DatabaseOptions/coding``.
public struct DatabaseEncoder: Sendable {
    /// The forms for types that have several.
    public var options: DatabaseCodingOptions

    /// The encoder of the database that a value is converted for (``DatabaseValueConvertible``).
    @TaskLocal static var current = DatabaseEncoder()

    /// Makes a value whose parts this encoder encodes.
    func making<Value>(_ body: () throws(DatabaseError) -> Value) throws(DatabaseError) -> Value {
        try Self.$current.withValue(self) { Result(catching: body) }.get()
    }

    /// An encoder with these options.
    public init(_ options: DatabaseCodingOptions = DatabaseCodingOptions()) { self.options = options }

    /// - throws: `invalidValue`, which names the member, for a number that does not fit in 64 bits, and for errors that
    ///   the type itself throws.
    public func encode(_ value: some Encodable) throws(DatabaseError) -> DatabaseValue {
        if let value = value as? DatabaseValue { return value }
        let box = Box(context: CodingContext(options))
        do {
            try box.encode(value, [])
        } catch let error as DatabaseError {
            throw error
        } catch EncodingError.invalidValue(_, let context) {
            throw .invalidValue(context.debugDescription + context.codingPath.place)
        } catch {
            throw .invalidValue("\(error)")
        }
        return box.value
    }

    /// A value under construction.
    private final class Box {
        private enum Kind {
            case leaf
            case object
            case array
        }
        private var kind = Kind.leaf
        private var leaf = DatabaseValue.null
        private var members: [(key: String, box: Box)] = []
        let context: CodingContext

        init(context: CodingContext) { self.context = context }

        var value: DatabaseValue {
            switch kind {
            case .leaf: leaf
            case .object: .object(Dictionary(members.map { ($0.key, $0.box.value) }) { _, last in last })
            case .array: .array(members.map(\.box.value))
            }
        }

        func set(_ value: DatabaseValue) { leaf = value }

        func beginObject() { kind = .object }

        func beginArray() { kind = .array }

        var count: Int { members.count }

        /// A new member of the object, or of the array.
        func add(_ key: String = "") -> Box {
            let box = Box(context: context)
            members.append((key, box))
            return box
        }

        func encode<Value: Encodable>(_ value: Value, _ path: [any CodingKey]) throws {
            switch value {
            case let value as DatabaseValue: set(value)
            case let value as Bool: set(.bool(value))
            case let value as String: set(.string(value))
            case let value as Double: set(.double(value))
            case let value as Float: set(.double(Double(value)))
            case let value as any BinaryInteger & Encodable: try setInteger(value, path)
            default:
                if let type = context.foundationType(Value.self) { return try encode(value, type, path) }
                try value.encode(to: Level(box: self, codingPath: path))
            }
        }

        /// A Foundation value, in the form in which it codes itself.
        private func encode(_ value: some Encodable, _ type: FoundationType, _ path: [any CodingKey]) throws {
            let own = Box(context: context)
            try value.encode(to: Level(box: own, codingPath: path))
            switch type {
            case .date:
                guard let time = own.value.double.map({ $0 + FoundationType.referenceDate }) else { break }
                if context.options.dateStrategy == .secondsSince1970 { return set(.double(time)) }
                let milliseconds = (time * 1000).rounded()
                return set(Int64(exactly: milliseconds).map { .int($0) } ?? .double(milliseconds))
            case .data:
                guard case .array(let elements) = own.value else { break }
                let bytes = elements.map { UInt8(truncatingIfNeeded: $0.int ?? 0) }
                return set(.string(String(decoding: Base64.standard.encode(bytes), as: UTF8.self)))
            case .url:
                if own.value["base"] != .null {
                    throw DatabaseError.invalidValue("a URL that is relative to another one\(path.place)")
                }
                return set(own.value["relative"])
            }
            set(own.value)
        }

        private func setInteger(_ value: any BinaryInteger & Encodable, _ path: [any CodingKey]) throws {
            guard let number = Int64(exactly: value) else {
                throw DatabaseError.invalidValue("\(value) does not fit 64 bits\(path.place)")
            }
            set(.int(number))
        }
    }

    private struct Level: Encoder {
        let box: Box
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { box.context.userInfo }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            box.beginObject()
            return KeyedEncodingContainer(Keyed(box: box, codingPath: codingPath))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer {
            box.beginArray()
            return Unkeyed(box: box, codingPath: codingPath)
        }

        func singleValueContainer() -> any SingleValueEncodingContainer { Single(box: box, codingPath: codingPath) }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let box: Box
        let codingPath: [any CodingKey]

        mutating func encodeNil(forKey key: Key) {}

        mutating func encode(_ value: some Encodable, forKey key: Key) throws {
            try box.add(key.stringValue).encode(value, codingPath + [key])
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key]).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key]).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { Level(box: box.add("super"), codingPath: codingPath) }

        mutating func superEncoder(forKey key: Key) -> any Encoder {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let box: Box
        let codingPath: [any CodingKey]
        var count: Int { box.count }

        mutating func encodeNil() { _ = box.add() }

        private var nextPath: [any CodingKey] { codingPath + [PlainCodingKey(box.count)] }

        mutating func encode(_ value: some Encodable) throws {
            let path = nextPath
            try box.add().encode(value, path)
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            let path = nextPath
            return Level(box: box.add(), codingPath: path).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            let path = nextPath
            return Level(box: box.add(), codingPath: path).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder {
            let path = nextPath
            return Level(box: box.add(), codingPath: path)
        }
    }

    private struct Single: SingleValueEncodingContainer {
        let box: Box
        let codingPath: [any CodingKey]

        mutating func encodeNil() { box.set(.null) }
        mutating func encode(_ value: some Encodable) throws { try box.encode(value, codingPath) }
    }
}

extension DatabaseValue: Encodable {
    /// For other encoders; the database's encoder writes the value unchanged.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let children): try container.encode(children)
        case .server:
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "a server value is only for databases"))
        }
    }
}

extension DatabaseValue {
    /// A value of any encodable type, to be written together with others:
    ///
    ///     try await root.updateChildValues([
    ///         "messages/\(key)": try DatabaseValue(encoding: message), "people/ada/messages/\(key)": true,
    ///     ])
    ///
    /// - throws: as ``DatabaseEncoder/encode(_:)``.
    public init(
        encoding value: some Encodable, encoder: DatabaseEncoder = DatabaseEncoder()
    ) throws(DatabaseError) {
        self = try encoder.encode(value)
    }
}
