"""A second opinion on finished fits: data read anew, objectives and certificates recomputed from their definitions.

No code is shared with the solvers: everything is summed in long doubles, block by block, by `plain`, and each family of
solvers has a file with its problem. A bound comes from dual variables that the model holds, or is rebuilt from weights.
"""

from mlrank.certify.families import CERTIFIERS
from mlrank.certify.fits import VERDICTS, CertifiedFit, certify_model, certify_run

__all__ = ["CERTIFIERS", "VERDICTS", "CertifiedFit", "certify_model", "certify_run"]
