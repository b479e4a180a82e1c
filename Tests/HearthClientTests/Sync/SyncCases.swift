import Testing

/// What the sync tree does, step by step. See `SyncScript` for the words.
struct SyncCase: CustomTestStringConvertible, Sendable {
    let name: String
    let script: String

    init(_ name: String, _ script: String) {
        self.name = name
        self.script = script
    }

    var testDescription: String { name }
}

extension SyncCase {
    static let all: [SyncCase] = listening + writing + querying + overlapping + ending + priorities + partlyKnown

    static let listening: [SyncCase] = [
        SyncCase(
            "the first value comes whole, later ones as what changed",
            """
            observe a / value child
              listen /
            server / {"x":1,"y":{"z":2}}
              a added x 1 after -
              a added y {"z":2} after x
              a value {"x":1,"y":{"z":2}}
            listened /
            server /y/z 3
              a changed y {"z":3} after x
              a value {"x":1,"y":{"z":3}}
            server /x null
              a removed x 1
              a value {"y":{"z":3}}
            server /y/z 3
            """),
        SyncCase(
            "where there is nothing, the answer to the listen says so",
            """
            observe a / value child
              listen /
            listened /
              a value null
            server / {"x":1}
              a added x 1 after -
              a value {"x":1}
            """),
        SyncCase(
            "a merge is one change",
            """
            observe a / value child
              listen /
            server / {"x":1,"y":2,"z":3}
              a added x 1 after -
              a added y 2 after x
              a added z 3 after y
              a value {"x":1,"y":2,"z":3}
            merge / {"x":null,"y":4,"w":5,"z/q":6}
              a removed x 1
              a added w 5 after -
              a changed y 4 after w
              a changed z {"q":6} after y
              a value {"w":5,"y":4,"z":{"q":6}}
            """),
        SyncCase(
            "a second observer is told at once what is known, and the listen goes with the last one",
            """
            observe a / value
              listen /
            server / {"x":1}
              a value {"x":1}
            observe b / value child
              b added x 1 after -
              b value {"x":1}
            remove a
            server /x 2
              b changed x 2 after -
              b value {"x":2}
            remove b
              unlisten /
            observe c / value
              listen /
            """),
        SyncCase(
            "changes below come before those above, and siblings in their order",
            """
            observe a / value
              listen /
            observe b /x value
            observe c /y/z value
            server / {"x":1,"y":{"z":2}}
              b value 1
              c value 2
              a value {"x":1,"y":{"z":2}}
            """),
        SyncCase(
            "a refusal ends the observers of the place, not those below",
            """
            observe a / value
              listen /
            observe b /x value
            refused /
              a cancelled
              listen /x
            server /x 1
              b value 1
            """),
        SyncCase(
            "what nobody listens to is not kept",
            """
            server /x 1
            observe a /x value
              listen /x
            server /x/y 2
            listened /x
              a value null
            """),
        SyncCase(
            "a leaf becomes an object and a leaf again",
            """
            observe a / value child
              listen /
            server / 5
              a value 5
            server /x 1
              a added x 1 after -
              a value {"x":1}
            server / 6
              a removed x 1
              a value 6
            """),
    ]

    static let writing: [SyncCase] = [
        SyncCase(
            "a write is seen at once, and not again when it is confirmed",
            """
            observe a / value child
              listen /
            server / {"x":1}
              a added x 1 after -
              a value {"x":1}
            listened /
            set 1 /x 2
              a changed x 2 after -
              a value {"x":2}
            server /x 2
            ack 1
            """),
        SyncCase(
            "a write that is refused is taken back",
            """
            observe a / value child
              listen /
            server / {"x":1}
              a added x 1 after -
              a value {"x":1}
            set 1 /y 2
              a added y 2 after x
              a value {"x":1,"y":2}
            revert 1
              a removed y 2
              a value {"x":1}
            """),
        SyncCase(
            "what the server says below a write shows when the write is gone",
            """
            observe a / value
              listen /
            server / {"x":1}
              a value {"x":1}
            set 1 /x 2
              a value {"x":2}
            server /x 3
            server /y 4
              a value {"x":2,"y":4}
            revert 1
              a value {"x":3,"y":4}
            """),
        SyncCase(
            "later writes lie over earlier ones",
            """
            observe a / value
              listen /
            server / {"x":1}
              a value {"x":1}
            set 1 / {"y":2}
              a value {"y":2}
            set 2 /x 3
              a value {"x":3,"y":2}
            revert 1
              a value {"x":3}
            server /x 3
            ack 2
            """),
        SyncCase(
            "children are told before the whole value is known",
            """
            observe a / value child
              listen /
            set 1 /x 1
              a added x 1 after -
            server / {"x":1,"y":2}
              a added y 2 after x
              a value {"x":1,"y":2}
            listened /
            ack 1
            """),
        SyncCase(
            "a write that replaces everything makes the value known",
            """
            observe a / value child
              listen /
            set 1 / {"x":1}
              a added x 1 after -
              a value {"x":1}
            server / {"z":1}
            listened /
            revert 1
              a removed x 1
              a added z 1 after -
              a value {"z":1}
            """),
        SyncCase(
            "a write confirmed before the listen is answered stays until then",
            """
            observe a / value child
              listen /
            set 1 /x 1
              a added x 1 after -
            ack 1
            server / {"x":1}
              a value {"x":1}
            listened /
            """),
        SyncCase(
            "a write confirmed and overwritten by others before the listen is answered",
            """
            observe a / value child
              listen /
            set 1 /x 1
              a added x 1 after -
            ack 1
            server / {"x":2}
              a changed x 2 after -
              a value {"x":2}
            listened /
            """),
        SyncCase(
            "an update is one change, and is taken back as one",
            """
            observe a / value child
              listen /
            server / {"x":1,"y":2}
              a added x 1 after -
              a added y 2 after x
              a value {"x":1,"y":2}
            update 1 / {"x":null,"z":3}
              a removed x 1
              a added z 3 after y
              a value {"y":2,"z":3}
            revert 1
              a removed z 3
              a added x 1 after -
              a value {"x":1,"y":2}
            """),
        SyncCase(
            "a hidden write shows nothing",
            """
            observe a / value
              listen /
            server / {"x":1}
              a value {"x":1}
            set 1 /x 2 hidden
            server /x 2
              a value {"x":2}
            ack 1
            """),
        SyncCase(
            "a write below a leaf, taken back, gives the leaf again",
            """
            observe a / value child
              listen /
            server / 5
              a value 5
            set 1 /x 1
              a added x 1 after -
              a value {"x":1}
            revert 1
              a removed x 1
              a value 5
            """),
        SyncCase(
            "the last child removed here, and taken back, with the priority of what vanished",
            """
            observe a / value child
              listen /
            server / {".priority":3,"x":1}
              a added x 1 after -
              a value {".priority":3,"x":1}
            set 1 /x null
              a removed x 1
              a value null
            revert 1
              a added x 1 after -
              a value {".priority":3,"x":1}
            """),
    ]

    static let querying: [SyncCase] = [
        SyncCase(
            "a limited query has a tag, and shows what enters and leaves",
            """
            observe a / value child {"l":2,"vf":"r","i":".key"}
              listen / #1
            tagged 1 / {"b":2,"c":3}
              a added b 2 after -
              a added c 3 after b
              a value {"b":2,"c":3}
            listened #1
            taggedmerge 1 / {"b":null,"d":4}
              a removed b 2
              a added d 4 after c
              a value {"c":3,"d":4}
            """),
        SyncCase(
            "what is pushed out of a window is forgotten",
            """
            observe a / child {"l":2,"vf":"l","i":".key"}
              listen / #1
            tagged 1 / {"b":2,"c":3}
              a added b 2 after -
              a added c 3 after b
            tagged 1 /a 1
              a removed c 3
              a added a 1 after -
            tagged 1 /a null
              a removed a 1
            tagged 1 /c/deep 1
            """),
        SyncCase(
            "a write that pushes a child out brings it back when it is refused",
            """
            observe a / value child {"l":2,"vf":"l","i":".key"}
              listen / #1
            tagged 1 / {"b":2,"c":3}
              a added b 2 after -
              a added c 3 after b
              a value {"b":2,"c":3}
            set 1 /a 1
              a removed c 3
              a added a 1 after -
              a value {"a":1,"b":2}
            revert 1
              a removed a 1
              a added c 3 after b
              a value {"b":2,"c":3}
            """),
        SyncCase(
            "a change inside a child that is not in the window is not shown",
            """
            observe a / value child {"l":1,"vf":"l","i":".key"}
              listen / #1
            tagged 1 / {"b":{"n":1}}
              a added b {"n":1} after -
              a value {"b":{"n":1}}
            set 1 /a/n 2
            set 2 /b/n 3
              a changed b {"n":3} after -
              a value {"b":{"n":3}}
            """),
        SyncCase(
            "a child moves when what it is ordered by changes",
            """
            observe a / child {"i":"n"}
              listen /
            server / {"x":{"n":1},"y":{"n":2}}
              a added x {"n":1} after -
              a added y {"n":2} after x
            server /x/n 3
              a moved x {"n":3} after y
              a changed x {"n":3} after y
            server /x/m 1
              a changed x {"m":1,"n":3} after y
            """),
        SyncCase(
            "a child is added behind one that moves only after that has moved",
            """
            observe a / child {"i":".value"}
              listen /
            server / {"m":3,"x":1,"y":2}
              a added x 1 after -
              a added y 2 after x
              a added m 3 after y
            merge / {"m":-2,"a":-1}
              a moved m -2 after -
              a added a -1 after m
              a changed m -2 after -
            """),
        SyncCase(
            "bounds let children in and out",
            """
            observe a / value child {"sp":2,"i":"n"}
              listen / #1
            tagged 1 / {"y":{"n":2}}
              a added y {"n":2} after -
              a value {"y":{"n":2}}
            set 1 /x {"n":3}
              a added x {"n":3} after y
              a value {"x":{"n":3},"y":{"n":2}}
            set 2 /x/n 1
              a removed x {"n":3}
              a value {"y":{"n":2}}
            """),
        SyncCase(
            "a query that selects nothing here has the value null",
            """
            observe a / value child {"sp":2,"ep":1,"i":"n"}
              listen / #1
            listened #1
              a value null
            set 1 /x {"n":1}
            """),
    ]

    static let overlapping: [SyncCase] = [
        SyncCase(
            "a listen above takes over from those below, and gives back",
            """
            observe a /x value
              listen /x
            server /x 1
              a value 1
            listened /x
            observe b / value child
              b added x 1 after -
              listen /
              unlisten /x
            server / {"x":1,"y":2}
              b added y 2 after x
              b value {"x":1,"y":2}
            listened /
            remove b
              listen /x
              unlisten /
            server /x 3
              a value 3
            """),
        SyncCase(
            "a query is served from the whole place, and keeps what it has after it",
            """
            observe a / value {"l":1,"vf":"r","i":".key"}
              listen / #1
            tagged 1 / {"z":26}
              a value {"z":26}
            listened #1
            observe b / value
              listen /
              unlisten / #1
            server / {"y":25,"z":26}
              b value {"y":25,"z":26}
            listened /
            server /z null
              a value {"y":25}
              b value {"y":25}
            remove b
              listen / #2
              unlisten /
            tagged 2 / {"y":25}
            listened #2
            tagged 2 /y 7
              a value {"y":7}
            """),
        SyncCase(
            "two queries at one place do not mix",
            """
            observe a / value {"l":1,"vf":"l","i":".key"}
              listen / #1
            observe b / value {"l":1,"vf":"r","i":".key"}
              listen / #2
            tagged 1 / {"a":1}
              a value {"a":1}
            tagged 2 / {"b":2}
              b value {"b":2}
            tagged 1 /a 3
              a value {"a":3}
            remove a
              unlisten / #1
            """),
        SyncCase(
            "two orders of the same whole place share its listen",
            """
            observe a / child {"i":".value"}
              listen /
            observe b / child {"i":".key"}
            server / {"x":2,"y":1}
              a added y 1 after -
              a added x 2 after y
              b added x 2 after -
              b added y 1 after x
            remove a
            remove b
              unlisten /
            """),
        SyncCase(
            "the end of a listen above restarts all that it covered, in order",
            """
            observe a / value
              listen /
            observe b /x value
            observe c /y child {"l":1,"vf":"l","i":".key"}
            observe d /x/z value
            server / {"x":{"z":1},"y":{"p":1,"q":2}}
              d value 1
              b value {"z":1}
              c added p 1 after -
              a value {"x":{"z":1},"y":{"p":1,"q":2}}
            remove a
              listen /x
              listen /y #1
              unlisten /
            tagged 1 /y {"p":1}
            server /x/z 2
              d value 2
              b value {"z":2}
            """),
        SyncCase(
            "a write is seen by observers above and below, and by queries",
            """
            observe a /x value
              listen /x
            observe b /x/y value
            observe c /x value {"l":1,"vf":"r","i":".key"}
            server /x {"w":1}
              b value null
              a value {"w":1}
              c value {"w":1}
            set 1 /x/y/z 2
              b value {"z":2}
              a value {"w":1,"y":{"z":2}}
              c value {"y":{"z":2}}
            """),
    ]

    static let priorities: [SyncCase] = [
        SyncCase(
            "children are ordered by their priorities, and move with them",
            """
            observe a / child
              listen /
            server / {"x":{".priority":2,".value":1},"y":{".priority":1,".value":1}}
              a added y {".priority":1,".value":1} after -
              a added x {".priority":2,".value":1} after y
            set 1 /y/.priority 3
              a moved y {".priority":3,".value":1} after x
              a changed y {".priority":3,".value":1} after x
            revert 1
              a moved y {".priority":1,".value":1} after -
              a changed y {".priority":1,".value":1} after -
            """),
        SyncCase(
            "a priority of the place itself changes its value alone",
            """
            observe a /x value child
              listen /x
            server /x {"y":1}
              a added y 1 after -
              a value {"y":1}
            server /x/.priority 5
              a value {".priority":5,"y":1}
            """),
        SyncCase(
            "a priority where nothing is changes nothing",
            """
            observe a /x value
              listen /x
            listened /x
              a value null
            set 1 /x/.priority 5
            """),
    ]
}
