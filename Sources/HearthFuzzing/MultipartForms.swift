import HearthServerCodecs

/// A content type in the first line, then the body of a request with it. The part that is found is one of the body,
/// and is found again in a form that is made of it.
public func fuzzMultipartForms(_ bytes: UnsafeRawBufferPointer) {
    let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    guard lines.count == 2 else { return }
    let (type, body) = ([UInt8](lines[0]), [UInt8](lines[1]))
    guard let part = MultipartForm.firstPart(of: body, contentType: type[...]) else { return }
    precondition(part.startIndex >= 0 && part.endIndex <= body.count, "a part outside of the body")
    // No part has that, as it is longer than the input.
    let boundary = Array(repeating: UInt8(ascii: "b"), count: 70)
    if part.count >= 70 { return }
    var form = Array("\r\n--".utf8) + boundary
    form += Array("\r\nContent-Type: text/plain\r\n\r\n".utf8) + part
    form += Array("\r\n--".utf8) + boundary + Array("--\r\n".utf8)
    let formType = Array("multipart/form-data; boundary=\"".utf8) + boundary + [UInt8(ascii: "\"")]
    precondition(MultipartForm.firstPart(of: form, contentType: formType[...]) == part, "a written part is another")
}
