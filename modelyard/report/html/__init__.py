"""A preview as one HTML file that loads nothing: summary, filters, findings, diffs, charts, and a picture of a stack.

Owns how the document of a preview looks in a browser. Everything readable without scripts (all but the picture of the
nodes) is HTML in the page, made by ``templates``; ``assets`` has the styles and the scripts that filter, sort,
mark changed words and draw. Decides nothing about plans, reads no cluster, and writes no file.
"""
