/// The small object that is written and read, 60 bytes with a number in it.
package enum SmallObject {
    package static func text(number: String) -> String {
        #"{"id":\#(number),"name":"hearth-bench","ok":true,"x":0.0625}"#
    }
}

/// Sets a small object at `/bench/<connection>/<one of 1000>`.
struct ObjectSets: RequestSource {
    static let keys = 1_000
    /// Keys are numbers from here, which all have four digits.
    static let keyBase = 1_000

    private var frame = FrameTemplate(
        """
        {"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/####/####","d":\(SmallObject.text(number: "##########"))}}}
        """)
    let reply: ReplyShape

    init(isFloor: Bool) { reply = ReplyShape(data: #""""#, hasContent: !isFloor) }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        frame.fill(1, number: Self.keyBase + connection)
        frame.fill(2, number: Self.keyBase + index % Self.keys)
        frame.fill(3, number: RequestNumber.base + index)
        output.append(contentsOf: frame.bytes)
    }
}

/// Adds small objects to one list, under keys that grow with time as those of `push()` do.
package struct ObjectPushes: RequestSource {
    private static let alphabet = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

    private var frame = FrameTemplate(
        """
        {"t":"d","d":{"r":##########,"a":"p","b":{"p":"/bench/list/####################",\
        "d":\(SmallObject.text(number: "##########"))}}}
        """)
    package let reply: ReplyShape
    private var pushed: UInt64 = 1 << 41
    private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init(isFloor: Bool) { reply = ReplyShape(data: #""""#, hasContent: !isFloor) }

    package mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        frame.fill(1, characters: nextKey())
        frame.fill(2, number: RequestNumber.base + index)
        output.append(contentsOf: frame.bytes)
    }

    /// 8 characters that grow, 12 that are random (Firebase's push ID).
    private mutating func nextKey() -> some Sequence<UInt8> {
        pushed += 1
        // xorshift64
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        let (time, tail) = (pushed, random)
        return (0..<20).lazy.map { place in
            let bits = place < 8 ? time >> UInt64(42 - 6 * place) : tail >> UInt64(5 * (place - 8))
            return Self.alphabet[Int(bits & 63)]
        }
    }
}

/// Reads the objects of ``ObjectSets``, in an order of its own.
struct ObjectGets: RequestSource {
    private var frame = FrameTemplate(#"{"t":"d","d":{"r":##########,"a":"g","b":{"p":"/bench/####/####","q":{}}}}"#)
    let reply: ReplyShape

    init(isFloor: Bool) {
        reply = ReplyShape(data: SmallObject.text(number: "\(RequestNumber.base)"), hasContent: !isFloor)
    }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        frame.fill(0, number: RequestNumber.base + index)
        frame.fill(1, number: ObjectSets.keyBase + connection)
        // 617 has no factor in common with 1000, so every key has its turn.
        frame.fill(2, number: ObjectSets.keyBase + index &* 617 % ObjectSets.keys)
        output.append(contentsOf: frame.bytes)
    }

    /// The objects below the path of one connection.
    static func objects() -> [UInt8] {
        let object = SmallObject.text(number: "\(RequestNumber.base)")
        let members = (0..<ObjectSets.keys).map { #""\#(ObjectSets.keyBase + $0)":\#(object)"# }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }
}

/// Sets small objects at random that are children of one wide node, or of many nodes with ten children each.
struct ChildSets: RequestSource {
    static let childrenPerNarrowNode = 10
    /// Keys have seven digits.
    static let keyBase = 1_000_000

    private var frame: FrameTemplate
    private let isWide: Bool
    private let children: Int
    private var random = SeededPick(seed: 1)
    let reply = ReplyShape(data: #""""#, hasContent: true)

    /// The first `children` children take part.
    init(isWide: Bool, children: Int) {
        self.isWide = isWide
        self.children = children
        frame = FrameTemplate(
            """
            {"t":"d","d":{"r":##########,"a":"p","b":{"p":"\(isWide ? "/bench/wide/nodes" : "/bench/thin/#######")/#######",\
            "d":\(SmallObject.text(number: "##########"))}}}
            """)
    }

    mutating func append(_ index: Int, connection: Int, to output: inout [UInt8]) {
        let child = random.next(below: children)
        frame.fill(0, number: RequestNumber.base + index)
        if !isWide { frame.fill(1, number: Self.keyBase + child / Self.childrenPerNarrowNode) }
        frame.fill(isWide ? 1 : 2, number: Self.keyBase + child)
        frame.fill(isWide ? 2 : 3, number: RequestNumber.base + index)
        output.append(contentsOf: frame.bytes)
    }

    static func node(isWide: Bool) -> String { isWide ? "/bench/wide/nodes" : "/bench/thin" }

    /// Objects that together hold all children, a thousand in each, as members of the node, or of nodes below it.
    static func objects(isWide: Bool, children: Int) -> some Sequence<[UInt8]> {
        let object = SmallObject.text(number: "\(RequestNumber.base)")
        return stride(from: 0, to: children, by: 1_000).lazy.map { start in
            let range = start..<min(start + 1_000, children)
            if isWide { return members(range, object) }
            let nodes = stride(from: range.lowerBound, to: range.upperBound, by: childrenPerNarrowNode).map { first in
                let node = members(first..<min(first + childrenPerNarrowNode, range.upperBound), object)
                return #""\#(keyBase + first / childrenPerNarrowNode)":\#(String(decoding: node, as: UTF8.self))"#
            }
            return Array("{\(nodes.joined(separator: ","))}".utf8)
        }
    }

    private static func members(_ range: Range<Int>, _ object: String) -> [UInt8] {
        Array("{\(range.map { #""\#(keyBase + $0)":\#(object)"# }.joined(separator: ","))}".utf8)
    }
}

/// Numbers without pattern, the same in every run (SplitMix64).
struct SeededPick {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
