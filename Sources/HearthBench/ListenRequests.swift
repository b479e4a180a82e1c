/// Has connections listen, each at its own path, and waits until all of them do.
struct ListenRequests {
    /// Connections whose answers are awaited at once.
    private static let wave = 256

    private let load: WebSocketLoad

    init(_ load: WebSocketLoad) { self.load = load }

    /// The target's messages for it must end with the answer; there is no data at the paths.
    func listen(on connections: ClosedRange<Int>, path: (Int) -> String) throws(BenchError) {
        var scanners: [FrameScanner] = []
        var first = connections.lowerBound
        while first <= connections.upperBound {
            let last = min(first + Self.wave - 1, connections.upperBound)
            scanners = Array(repeating: FrameScanner(), count: last - first + 1)
            for connection in first...last {
                let request = #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"\#(path(connection))","h":""}}}"#
                try load.send(FrameTemplate.frame(Array(request.utf8)), on: connection)
            }
            var missing = last - first + 1
            while missing > 0 {
                try load.turn { (connection, bytes) throws(BenchError) in
                    try scanners[connection - first].scan(bytes) { (payload) throws(BenchError) in
                        missing -= 1
                        guard load.target.isFloor || Self.isSuccess(payload) else {
                            throw BenchError("a listen failed: \(String(decoding: payload, as: UTF8.self))")
                        }
                    }
                }
            }
            first = last + 1
        }
    }

    private static func isSuccess(_ payload: UnsafeRawBufferPointer) -> Bool {
        payload.elementsEqual(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#.utf8)
    }
}
