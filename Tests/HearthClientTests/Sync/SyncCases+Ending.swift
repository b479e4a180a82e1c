/// What observers are told while the server still reports to listens that it was asked to end.
extension SyncCase {
    static let ending: [SyncCase] = [
        SyncCase(
            "a listen that takes over takes in every report to the one that ends",
            """
            observe a /shelf value
              listen /shelf
            observe b /shelf/atlas value
            listened /shelf
              b value null
              a value null
            remove a
              listen /shelf/atlas
              unlisten /shelf
            ending /shelf
            server /shelf/atlas/pages 300
              b value {"pages":300}
            server /shelf 1
              b value null
            listened /shelf/atlas
            ended /shelf
            """),
        SyncCase(
            "what is reported to a listen that has ended is nothing to one below that begins later",
            """
            observe a /shelf value
              listen /shelf
            remove a
              unlisten /shelf
            ending /shelf
            observe b /shelf/atlas value
              listen /shelf/atlas
            server /shelf {"atlas":1}
            server /shelf/atlas 2
            ended /shelf
            listened /shelf/atlas
              b value null
            server /shelf/atlas 3
              b value 3
            """),
        SyncCase(
            "what is reported to a listen that has ended is nothing to one above that begins later",
            """
            observe a /shelf/atlas value
              listen /shelf/atlas
            remove a
              unlisten /shelf/atlas
            ending /shelf/atlas
            observe b /shelf value child
              listen /shelf
            server /shelf/atlas 1
            ended /shelf/atlas
            server /shelf {"atlas":2}
              b added atlas 2 after -
              b value {"atlas":2}
            listened /shelf
            """),
        SyncCase(
            "a query that takes over does not bring old reports to a listen below that begins later",
            """
            observe a / value
              listen /
            server / {"shelf":{"atlas":1}}
              a value {"shelf":{"atlas":1}}
            listened /
            observe b /shelf value {"i":".key","l":1,"vf":"l"}
              b value {"atlas":1}
            remove a
              listen /shelf #1
              unlisten /
            ending /
            observe c /shelf/novel value
              listen /shelf/novel
            server / {"shelf":{"atlas":2,"novel":3}}
            tagged 1 /shelf {"atlas":2}
              b value {"atlas":2}
            listened #1
            ended /
            listened /shelf/novel
              c value null
            """),
        SyncCase(
            "a query that takes over does not hide the data of one below",
            """
            observe a / value
              listen /
            observe b / value {"i":".key","l":1,"vf":"l"}
            remove a
              listen / #1
              unlisten /
            ending /
            server / {"atlas":1}
            observe c /shelf value {"i":".key","l":1,"vf":"l"}
              listen /shelf #2
            listened #1
              b value null
            ended /
            tagged 2 /shelf {"atlas":1}
              c value {"atlas":1}
            """),
    ]
}
