package io.jumpgate.spark.plan

import io.jumpgate.dataflow.{DataType => JumpgateType, Expression => Request, ScalarFunction}

/** Times as text, by patterns of years to seconds in their usual digits and of what is no letter. */
private object DateFormats {
  private val Parts = Map(
    "yyyy" -> ScalarFunction.YEAR, "MM" -> ScalarFunction.MONTH, "dd" -> ScalarFunction.DAY, "HH" -> ScalarFunction.HOUR,
    "mm" -> ScalarFunction.MINUTE, "ss" -> ScalarFunction.SECOND)
  /** A letter once or several times, or text that is none and means itself. */
  private val Piece = "(([A-Za-z])\\2*)|[^A-Za-z'\\[\\]{}#]+".r

  /** None: the pattern has other parts. */
  def apply(pattern: String, at: Value): Option[Value] = {
    val pieces = Piece.findAllIn(pattern).toSeq
    val isKnown = pieces.mkString == pattern && pieces.forall(p => Parts.contains(p) || !p.head.isLetter)
    if (!isKnown || pieces.isEmpty) None
    else Some(ScalarFunction.CONCAT.of(pieces.map(piece => Parts.get(piece).fold(Request.string(piece))(digits(_, piece.length, at))): _*))
  }

  private def digits(part: ScalarFunction, width: Int, at: Value): Value =
    ScalarFunction.LPAD.of(Values.cast(part.of(at), JumpgateType.STRING), Values.long(width.toLong), Request.string("0"))
}
