/// Events of observers while the server has sent only a part of the observed data: before the answer to a listen, and
/// where a server has no index for a query. The published scenarios of Firebase's clients have the same outcomes.
extension SyncCase {
    static let partlyKnown: [SyncCase] = [
        SyncCase(
            "a part of a place is told before the whole is known",
            """
            observe a /shelf value child
              listen /shelf
            server /shelf/atlas 1
              a added atlas 1 after -
            server /shelf/atlas/pages 300
              a changed atlas {"pages":300} after -
            server /shelf {"atlas":{"pages":300},"novel":2}
              a added novel 2 after atlas
              a value {"atlas":{"pages":300},"novel":2}
            listened /shelf
            """),
        SyncCase(
            "a merge is of an earlier listen while nothing is known, and parts of a child always are",
            """
            observe a /shelf value child
              listen /shelf
            merge /shelf {"novel":2}
            server /shelf/atlas/pages 1
            server /shelf/atlas 1
              a added atlas 1 after -
            merge /shelf {"novel":2,"guide/pages":9}
              a added novel 2 after atlas
            """),
        SyncCase(
            "an observer goes on to hear of its place while the listen above is awaited",
            """
            observe a /shelf/atlas value
              listen /shelf/atlas
            server /shelf/atlas 1
              a value 1
            listened /shelf/atlas
            observe b /shelf value child
              b added atlas 1 after -
              listen /shelf
              unlisten /shelf/atlas
            server /shelf/atlas 2
              a value 2
              b changed atlas 2 after -
            remove b
              listen /shelf/atlas
              unlisten /shelf
            server /shelf/atlas 3
              a value 3
            """),
        SyncCase(
            "a part that is known ends with the listen",
            """
            observe a /shelf value child
              listen /shelf
            server /shelf/atlas 1
              a added atlas 1 after -
            remove a
              unlisten /shelf
            observe b /shelf/atlas value
              listen /shelf/atlas
            """),
        SyncCase(
            "where the answer to a listen says nothing, the parts that were known are gone",
            """
            observe a /shelf value child
              listen /shelf
            server /shelf/atlas 1
              a added atlas 1 after -
            listened /shelf
              a removed atlas 1
              a value null
            """),
        SyncCase(
            "a part that is known ends with a refused listen",
            """
            observe a /shelf value child
              listen /shelf
            server /shelf/atlas 1
              a added atlas 1 after -
            refused /shelf
              a cancelled
            observe b /shelf value
              listen /shelf
            """),
        SyncCase(
            "where the server has said a part, that counts more than a write it has agreed to",
            """
            observe a /shelf/atlas value
              listen /shelf/atlas
            server /shelf/atlas 2
              a value 2
            listened /shelf/atlas
            set 1 /shelf {"atlas":7,"novel":3}
              a value 7
            observe b /shelf value child
              b added atlas 7 after -
              b added novel 3 after atlas
              b value {"atlas":7,"novel":3}
              listen /shelf
              unlisten /shelf/atlas
            server /shelf/atlas 8
            ack 1
              a value 8
              b changed atlas 8 after -
              b value {"atlas":8,"novel":3}
            server /shelf {"atlas":8,"novel":4}
              b changed novel 4 after atlas
              b value {"atlas":8,"novel":4}
            listened /shelf
            """),
        SyncCase(
            "a write that the server has not agreed to lies over the first value",
            """
            observe a / value child
              listen /
            set 1 /x 1
              a added x 1 after -
            server / {"x":2}
              a value {"x":1}
            server /x 1
            ack 1
            listened /
            """),
        SyncCase(
            "a server without an index reports everything, and the query selects from that until there is a tag",
            """
            observe a / value child {"i":"n","l":1,"vf":"l"}
              listen / #1
            server / {"x":{"n":1},"y":{"n":2}}
              a added x {"n":1} after -
              a value {"x":{"n":1}}
            listened #1
            set 1 /x null
              a removed x {"n":1}
              a added y {"n":2} after -
              a value {"y":{"n":2}}
            revert 1
              a removed y {"n":2}
              a added x {"n":1} after -
              a value {"x":{"n":1}}
            server /x/n 3
              a removed x {"n":1}
              a added y {"n":2} after -
              a value {"y":{"n":2}}
            tagged 1 /y {"n":4}
              a moved y {"n":4} after -
              a changed y {"n":4} after -
              a value {"y":{"n":4}}
            server /x/n 0
            remove a
              unlisten / #1
            """),
        SyncCase(
            "a value that a server without an index reported to a query serves the listens below",
            """
            observe a / child {"i":"n","l":1,"vf":"l"}
              listen / #1
            observe b /y/n value
              listen /y/n
            server / {"x":{"n":1},"y":{"n":2}}
              b value 2
              a added x {"n":1} after -
            remove a
              unlisten / #1
            server /y/n 3
              b value 3
            """),
    ]
}
