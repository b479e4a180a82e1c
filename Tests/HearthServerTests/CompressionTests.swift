import HearthServer
import Testing
import WebSocketCodec

@Suite("Compression of realtime connections")
struct CompressionTests {
    @Test("a client that offers it gets the same messages in fewer bytes, beside one that does not")
    func sharesMessages() throws {
        let server = try RealtimeTestServer { $0.compresses = true }
        let compressed = try server.connect(offersCompression: true)
        let plain = try server.connect()
        #expect(compressed.response.contains("permessage-deflate"))
        #expect(!plain.response.contains("permessage-deflate"))
        for peer in [compressed, plain] {
            _ = try peer.receiveMessage()
            try peer.send(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":""}}}"#)
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#)
        }
        // Larger than a frame, so that a count and several chunks go out.
        let text = String(repeating: "the same again, ", count: 3000)
        let before = (compressed.bytesReceived, plain.bytesReceived)
        try plain.send(#"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a/b","d":"short"}}}"#)
        let writer = try server.connect()
        _ = try writer.receiveMessage()
        for peer in [compressed, plain] {
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":"short"}}}"#)
        }
        #expect(try plain.receiveMessage() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        let message = #"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a/c","d":"\#(text)"}}}"#
        let half = message.count / 4
        try writer.send("4")
        for start in 0..<4 {
            let end = start == 3 ? message.count : (start + 1) * half
            try writer.send(String(message.dropFirst(start * half).prefix(end - start * half)))
        }
        for peer in [compressed, plain] {
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/c","d":"\#(text)"}}}"#)
        }
        #expect(plain.bytesReceived - before.1 > 48_000)
        #expect(compressed.bytesReceived - before.0 < 4_000)
    }

    @Test("is not agreed to by a server that was not told to")
    func isOff() throws {
        let peer = try RealtimeTestServer().connect(offersCompression: true)
        #expect(!peer.response.contains("Sec-WebSocket-Extensions"))
    }
}
