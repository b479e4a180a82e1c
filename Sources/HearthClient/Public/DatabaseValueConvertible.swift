/// A type whose values can be written together with values of other types:
///
///     try await room.setValue(["title": title, "seats": seats, "opened": ServerValue.timestamp()])
///
/// Strings, numbers, Booleans, optionals, arrays and dictionaries conform. An `Encodable` type needs only the
/// declaration:
///
///     extension Message: DatabaseValueConvertible {}
///     try await root.updateChildValues(["messages/\(key)": message, "people/ada/last": key])
public protocol DatabaseValueConvertible: Sendable {
    /// The value to write.
    ///
    /// - throws: `invalidValue`.
    var databaseValue: DatabaseValue { get throws(DatabaseError) }
}

extension DatabaseValueConvertible where Self: Encodable {
    /// The value as encoded by the database that it is written to; elsewhere by a ``DatabaseEncoder`` with default
    /// options.
    public var databaseValue: DatabaseValue {
        get throws(DatabaseError) { try DatabaseEncoder.current.encode(self) }
    }
}

extension DatabaseValue: DatabaseValueConvertible {
    /// The value itself.
    public var databaseValue: DatabaseValue { self }

    /// A value from one of another type: `DatabaseValue(seats)`.
    ///
    /// - throws: `invalidValue` for a number that does not fit 64 bits, and as the encoder does.
    public init(_ value: some DatabaseValueConvertible) throws(DatabaseError) { self = try value.databaseValue }
}

extension ServerValue: DatabaseValueConvertible {
    /// The placeholder for a server value.
    public var databaseValue: DatabaseValue { .server(self) }
}

extension Bool: DatabaseValueConvertible {
    /// A Boolean.
    public var databaseValue: DatabaseValue { .bool(self) }
}

extension String: DatabaseValueConvertible {
    /// A string.
    public var databaseValue: DatabaseValue { .string(self) }
}

extension Substring: DatabaseValueConvertible {
    /// A string.
    public var databaseValue: DatabaseValue { .string(String(self)) }
}

extension Double: DatabaseValueConvertible {
    /// A number. Infinity and NaN are refused when they are written.
    public var databaseValue: DatabaseValue { .double(self) }
}

extension Float: DatabaseValueConvertible {
    /// A number. Infinity and NaN are refused when they are written.
    public var databaseValue: DatabaseValue { .double(Double(self)) }
}

extension Int: DatabaseValueConvertible {
    /// A whole number.
    public var databaseValue: DatabaseValue { .int(Int64(self)) }
}

extension Int64: DatabaseValueConvertible {
    /// A whole number.
    public var databaseValue: DatabaseValue { .int(self) }
}

extension Int32: DatabaseValueConvertible {
    /// A whole number.
    public var databaseValue: DatabaseValue { .int(Int64(self)) }
}

extension UInt32: DatabaseValueConvertible {
    /// A whole number.
    public var databaseValue: DatabaseValue { .int(Int64(self)) }
}

extension UInt: DatabaseValueConvertible {
    /// A whole number.
    ///
    /// - throws: `invalidValue` beyond `Int64.max`.
    public var databaseValue: DatabaseValue {
        get throws(DatabaseError) {
            guard let number = Int64(exactly: self) else { throw .invalidValue("\(self) does not fit 64 bits") }
            return .int(number)
        }
    }
}

extension Optional: DatabaseValueConvertible where Wrapped: DatabaseValueConvertible {
    /// Null for nil.
    public var databaseValue: DatabaseValue {
        get throws(DatabaseError) { try self?.databaseValue ?? .null }
    }
}

extension Array: DatabaseValueConvertible where Element: DatabaseValueConvertible {
    /// An array.
    public var databaseValue: DatabaseValue {
        get throws(DatabaseError) {
            var elements: [DatabaseValue] = []
            for element in self { elements.append(try element.databaseValue) }
            return .array(elements)
        }
    }
}

extension Dictionary: DatabaseValueConvertible where Key == String, Value: DatabaseValueConvertible {
    /// An object.
    public var databaseValue: DatabaseValue {
        get throws(DatabaseError) {
            var children: [String: DatabaseValue] = [:]
            for (key, value) in self { children[key] = try value.databaseValue }
            return .object(children)
        }
    }
}
