public import HearthClient

/// What a program tells its user when it cannot go on.
public struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence.
    public let description: String

    /// A problem in one sentence.
    public init(_ description: String) { self.description = description }

    /// An error as a sentence.
    public static func text(of error: any Error) -> String {
        error is CancellationError || error as? DatabaseError == .cancelled ? "Stopped." : "\(error)"
    }
}

/// Mistakes in a form: a sentence for each field, by its name.
public struct FieldProblems: Error, Hashable, Sendable, CustomStringConvertible {
    /// Sentences by fields.
    public let fields: [String: String]

    /// Sentences by fields.
    public init(_ fields: [String: String]) { self.fields = fields }

    /// All of them, in the order of the names.
    public var description: String { fields.sorted { $0.key < $1.key }.map(\.value).joined(separator: " ") }

    /// Throws the problems that there are; nil means none.
    public static func check(_ fields: [String: String?]) throws(FieldProblems) {
        let problems = fields.compactMapValues { $0 }
        if !problems.isEmpty { throw FieldProblems(problems) }
    }
}

extension LiveList {
    /// Why the items are not kept up to date any more, as a sentence.
    public var problem: String? { error.map { "Not up to date any more: \($0)" } }
}
