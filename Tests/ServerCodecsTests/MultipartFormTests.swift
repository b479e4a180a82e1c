import HearthServerCodecs
import Testing

@Suite("Forms") struct MultipartFormTests {
    private func firstPart(_ body: String, _ type: String = "multipart/form-data; boundary=xYz") -> String? {
        MultipartForm.firstPart(of: Array(body.utf8), contentType: Array(type.utf8)[...])
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("the first part is found, whatever it holds")
    func parts() {
        let head = "Content-Disposition: form-data; name=\"f\"; filename=\"a.json\"\r\nContent-Type: application/json"
        for content in [
            "", "{}", "{\"a\":\"--xYz\"}", "\r\n\r\n", "a\r\n--xY\r\n", String(repeating: "x", count: 5000),
        ] {
            #expect(firstPart("--xYz\r\n\(head)\r\n\r\n\(content)\r\n--xYz--\r\n") == content)
            #expect(
                firstPart("preamble\r\n--xYz\r\n\(head)\r\n\r\n\(content)\r\n--xYz\r\n\(head)\r\n\r\n7\r\n--xYz--")
                    == content)
        }
        let body = "--xYz\r\nA: b\r\n\r\n1\r\n--xYz--"
        for type in [
            "multipart/form-data;boundary=xYz", "Multipart/Form-Data ; charset=utf-8; Boundary=\"xYz\"",
        ] { #expect(firstPart(body, type) == "1", "\(type)") }
    }

    @Test("what is not a form, or not whole, has none")
    func malformed() {
        let body = "--xYz\r\nA: b\r\n\r\n1\r\n--xYz--"
        for type in [
            "", "application/json", "multipart/form-data", "multipart/form-data; boundary=",
            "multipart/form-data; boundary=other",
            "multipart/mixed; boundary=xYz", "multipart/form-data; boundary=" + String(repeating: "b", count: 71),
        ] { #expect(firstPart(body, type) == nil, "\(type)") }
        // The last two bytes only tell that no part follows.
        for count in 0..<body.utf8.count - 2 {
            #expect(firstPart(String(decoding: Array(body.utf8)[..<count], as: UTF8.self)) == nil, "\(count)")
        }
    }
}
